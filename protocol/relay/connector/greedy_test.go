package connector

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/protocol/relay/core"
)

// glutton is a player that sends as much as it can: every 10 ms fifteen packages that are as large as messages make them, of those
// that are not confirmed yet, the oldest first.
type glutton struct {
	*player
	game      uint16
	confirmed map[uint32]bool
	oldest    uint32
}

func (g *glutton) send() {
	for _, d := range g.r.sent {
		var c core.Datagram
		if d.to != g.addr || d.port != g.game || !c.Parse(d.b) || c.Kind != core.KindConfirmation {
			continue
		}
		ids := core.ReadIDs(c.IDs)
		for id, ok := ids.Next(); ok; id, ok = ids.Next() {
			g.confirmed[id] = true
		}
	}
	for g.confirmed[g.oldest] {
		delete(g.confirmed, g.oldest)
		g.oldest++
	}
	g.heard() // and confirm
	payload := chat(strings.Repeat("x", 140)).AppendTo(nil)
	payload = slices.Repeat(payload, 3)
	for id, n := g.oldest, 0; n < 15; id++ {
		if !g.confirmed[id] {
			d := core.Datagram{Kind: core.KindPackage, Mode: core.SemiOrdered, ID: id, Payload: payload}
			g.r.in(g.game, g.addr, d.AppendTo(nil))
			n++
		}
	}
}

// sips takes what was sent to a player, and confirms so many packages of it at most, the oldest first.
func (p *player) sips(game uint16, most int, unconfirmed *[]uint32) (list []string) {
	rest := p.r.sent[:0]
	for _, d := range p.r.sent {
		var g core.Datagram
		if d.to != p.addr || d.port != game || !g.Parse(d.b) {
			rest = append(rest, d)
			continue
		}
		if g.Kind != core.KindPackage || !g.Mode.Reliable() {
			continue
		}
		if !slices.Contains(*unconfirmed, g.ID) {
			*unconfirmed = append(*unconfirmed, g.ID)
		}
		if id := [2]uint32{uint32(game), g.ID}; !p.got[id] {
			p.got[id] = true
			list = append(list, p.read(game, &g)...)
		}
	}
	p.r.sent = rest
	n := min(most, len(*unconfirmed))
	var ids []byte
	for _, id := range (*unconfirmed)[:n] {
		ids = core.AppendID(ids, id)
	}
	*unconfirmed = (*unconfirmed)[n:]
	if n > 0 {
		p.r.in(game, p.addr, (&core.Datagram{Kind: core.KindConfirmation, IDs: ids}).AppendTo(nil))
	}
	return list
}

// One player that sends 600 kB/s removes nobody, a player who takes 20 packages a second neither: what it sends is not confirmed when
// others are behind. What the others send comes to all.
func TestAGreedyPlayerRemovesNobody(t *testing.T) {
	r, game, a, b, d := trio(t, Config{})
	greedy := &glutton{player: a, game: game, confirmed: map[uint32]bool{}, oldest: a.ids[game]}
	var owed []uint32
	var slow, fast []string
	said := 0
	for i := range 3000 { // 30 s
		greedy.send()
		if i%25 == 0 {
			d.tell(game, core.SemiOrdered, chat(fmt.Sprint("word ", said)))
			said++
		}
		if i%10 == 0 {
			slow = append(slow, b.sips(game, 2, &owed)...)
		}
		fast = append(fast, d.heard()...)
		r.pass(10 * ms)
	}
	for range 600 {
		slow = append(slow, b.sips(game, 2, &owed)...)
		fast = append(fast, d.heard()...)
		r.drop(a.addr)
		r.pass(100 * ms)
	}
	words := 0
	for _, s := range slow {
		if strings.Contains(s, "word ") {
			if !strings.Contains(s, fmt.Sprintf("word %d", words)) {
				t.Fatalf("heard %q, want word %d", s, words)
			}
			words++
		}
	}
	if words != said {
		t.Errorf("the slow one heard %d words of %d", words, said)
	}
	for _, s := range append(slow, fast...) {
		if s == "Left" || s == "PeerLeft 1" || s == "PeerLeft 2" { // the greedy one is silent in the end
			t.Error(s)
		}
	}
	if n := len(fast); n < 500 {
		t.Errorf("%d messages of the greedy one were passed on", n)
	}
	if s := r.lobby.Stats(); s.Behind == 0 || s.Check() != nil {
		t.Errorf("%+v", s)
	}
}

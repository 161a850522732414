package connector

import (
	"fmt"
	"testing"
	"time"

	"parley/protocol/relay/core"
)

// lost is a game of which a player was lost some minutes ago, with so many packages that it had not confirmed.
func lost(t *testing.T, proven bool, unsure int) (r *rig, game uint16, a, b *player) {
	r = newRig(t, Config{})
	a, b = r.player(0), r.player(1)
	game = a.open(3)
	b.say(game, core.SemiOrdered, &join)
	if proven {
		r.lobby.ask(r.now, r.port(game).Peer(b.addr).Seat.(*guest))
		r.settle()
	}
	b.wantHeard("joined", "Joined 1")
	for range unsure {
		a.tell(game, core.SemiOrdered, chat("?"))
		r.pass(reliableGroup)
	}
	for range 180 {
		r.pass(time.Second)
		a.say(game, core.Unreliable, &ToGame{Kind: ToGamePing})
		a.heard()
	}
	was, ok := r.lobby.recall(game, b.addr)
	if r.port(game).Peer(b.addr) != nil || !ok || was.proven != proven || was.Send-was.Unsure < uint64(unsure) {
		t.Fatalf("it is known, or not remembered as it should be: %+v", was)
	}
	r.sent = nil
	return r, game, a, b
}

// A forger sends in the name of an address that was a player some minutes ago, and whose ids are remembered: proven or not, with packages
// that it did not confirm or none. The address is sent at most three times the bytes of that, the headers of IP and UDP counted.
func TestAForgedReturnBringsLittle(t *testing.T) {
	const headers = 28
	for _, proven := range []bool{false, true} {
		for _, unsure := range []int{0, 1, 60} {
			t.Run(fmt.Sprintf("proven %t, %d unsure", proven, unsure), func(t *testing.T) {
				if !proven && unsure == 0 {
					t.Skip("one like any other that proved nothing: TestAForgedAddressGetsLittle")
				}
				r, game, a, b := lost(t, proven, unsure)
				in, out := 0, 0
				for i := range 100 {
					forged := []string{"30 0001%02x 01", "30 0001%02x 00 01", "10 0001%02x 00 01", "20 0001%02x 00 01 58", "00 0001%02x 00 01 58", "30 0001%02x"}[i%6]
					datagram := unhex(t, fmt.Sprintf(forged, i))
					in += len(datagram) + headers
					r.in(game, b.addr, datagram)
					r.pass(time.Duration(i) * 10 * ms)
					a.heard()
					for _, s := range r.sent {
						if s.to == b.addr {
							out += len(s.b) + headers
						}
					}
					r.sent = nil
					if out > 3*in {
						t.Fatalf("after %d datagrams: %d bytes for %d", i+1, out, in)
					}
				}
				if out == 0 {
					t.Error("it was not asked")
				}
			})
		}
	}
}

// Who was proven, was lost with packages that it had not confirmed, and comes back proves itself again, and goes on where it was.
func TestAReturnIsProvenAgain(t *testing.T) {
	r, game, _, b := lost(t, true, 20)
	b.say(game, core.Unordered, &join)
	b.wantHeard("asked")
	b.wantHeard("proven", "NotJoined")
	b.ids[game]-- // it was not confirmed
	b.say(game, core.Unordered, &join)
	b.wantHeard("back", "Joined 1")
	g := r.port(game).Peer(b.addr).Seat.(*guest)
	if first := core.NextID(g.peer); !g.proven || first < 20 {
		t.Errorf("proven %t, next id %d", g.proven, first)
	}
}

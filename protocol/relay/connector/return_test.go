package connector

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/protocol/relay/core"
)

// returner is a player of a rig with relay's own endpoint, behind a network that can lose what it is told to.
type returner struct {
	r     *rig
	addr  netip.AddrPort
	game  uint16
	end   *core.Endpoint
	mute  bool                        // nothing of it arrives
	loses func(d *core.Datagram) bool // what does not come to it
	heard []string
}

func newReturner(r *rig, addr netip.AddrPort, game uint16) *returner {
	c := &returner{r: r, addr: addr, game: game, loses: func(*core.Datagram) bool { return false }}
	rules := core.Rules{KeepAlive: keepAlive, Timeout: timeout, HoleTimeout: holeTimeout}
	end, err := core.NewClient(r.now, netip.AddrPortFrom(swarmHost, game), core.Config{Rules: rules}, &core.Shared{Rand: rand.New(rand.NewPCG(3, 4))})
	if err != nil {
		r.t.Fatal(err)
	}
	c.end = end
	return c
}

// pass lets time go by in steps of 10 ms, in which what was sent arrives.
func (c *returner) pass(d time.Duration, others ...*player) {
	for until := c.r.now.Add(d); c.r.now.Before(until); c.r.pass(10 * ms) {
		c.end.HandleTimeout(c.r.now)
		var buf [core.MaxDatagram]byte
		for n, _, ok := c.end.PollTransmit(buf[:]); ok; n, _, ok = c.end.PollTransmit(buf[:]) {
			if !c.mute {
				c.r.in(c.game, c.addr, slices.Clone(buf[:n]))
			}
		}
		c.listen()
		for _, p := range others {
			p.heard()
		}
	}
}

func (c *returner) listen() {
	var rest []datagram
	for _, s := range c.r.sent {
		var d core.Datagram
		switch {
		case s.to != c.addr:
			rest = append(rest, s)
		case d.Parse(s.b) && !c.loses(&d):
			c.end.HandleDatagram(c.r.now, netip.AddrPortFrom(swarmHost, s.port), s.b)
		}
	}
	c.r.sent = rest
	for ev, ok := c.end.PollEvent(); ok; ev, ok = c.end.PollEvent() {
		switch {
		case ev.Kind != core.EventPackage:
		case ev.Package.Server:
			for msgs, m := Read(ev.Package.Payload), (FromGame{}); msgs.Next(&m); {
				c.heard = append(c.heard, say(&m))
			}
		default:
			for msgs, m := Read(ev.Package.Payload), (Relayed{}); msgs.Next(&m); {
				c.heard = append(c.heard, string(m.Text))
			}
		}
	}
}

func (c *returner) want(what string, want ...string) {
	c.r.t.Helper()
	if !slices.Equal(c.heard, want) {
		c.r.t.Fatalf("%s: heard %q, want %q", what, c.heard, want)
	}
	c.heard = nil
}

// T21: a player who was lost, and comes back before it knows that, hears nothing of what waits behind a package that it will never
// get. The ids of such packages are sent again, empty, when it asks to join again.
func TestAPlayerWhoWasLostHearsNothingOutOfOrder(t *testing.T) {
	r := newRig(t, Config{})
	a := r.player(0)
	game := a.open(3)
	b := newReturner(r, client(1), game)
	b.pass(time.Second, a)
	if err := b.end.Send(r.now, core.SemiOrdered, core.ToServer, join.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Second, a)
	b.want("joined", "Joined 1")

	first := core.NextID(r.port(game).Peer(b.addr))
	b.mute = true
	b.loses = func(d *core.Datagram) bool { return d.Mode.Reliable() && uint64(d.ID) == first }
	a.tell(game, core.Unordered, chat("first"))
	b.pass(100*ms, a)
	a.tell(game, core.SemiOrdered, chat("second"))
	b.pass(15*time.Second, a)
	if _, ok := r.lobby.recall(game, b.addr); !ok || r.lobby.Players() != 1 {
		t.Fatal("the player was not lost")
	}
	b.want("lost")

	b.mute = false
	b.loses = func(d *core.Datagram) bool { return d.Mode == core.Unreliable && len(d.Payload) > 0 } // NotJoined
	b.pass(90*time.Second, a)
	if r.port(game).Peer(b.addr) == nil {
		t.Fatal("the player did not come back")
	}
	b.want("back, and not told yet")

	b.loses = func(*core.Datagram) bool { return false }
	b.pass(sweepEvery, a)
	b.want("told", "NotJoined")

	if err := b.end.Send(r.now, core.SemiOrdered, core.ToServer, join.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Second, a)
	b.want("joined again", "second", "Joined 1")
	a.tell(game, core.SemiOrdered, chat("third"))
	b.pass(time.Second, a)
	b.want("plays", "third")
}

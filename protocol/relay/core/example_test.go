package core_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"parley/protocol/relay/core"
)

// A builder packs small messages into one package.
func ExampleBuilder() {
	b := core.Builder{Delay: 10 * time.Millisecond}
	send := func(payload []byte) { fmt.Printf("a package: %s\n", payload) }
	now := time.Unix(0, 0)
	for _, m := range []string{"up;", "up;", "left;"} {
		if err := b.Add(now, []byte(m), send); err != nil {
			fmt.Println(err)
		}
	}
	at, _ := b.NextTimeout()
	b.HandleTimeout(at, send)
	// Output: a package: up;up;left;
}

// quiet is a lobby of one's own: everybody is in one room, and nobody hears who shouts.
type quiet struct{ room *core.Room }

func (q *quiet) Rules() core.Rules { return core.Rules{Timeout: time.Minute} }

func (q *quiet) Admit(time.Time, *core.Port, netip.AddrPort, core.Package) (any, bool) {
	return nil, true
}

func (q *quiet) Enter(_ time.Time, p *core.Peer) {
	if q.room == nil {
		q.room = p.Port().Mux().NewRoom()
	}
	q.room.Add(p)
	p.Join()
}

func (q *quiet) Receive(_ time.Time, p *core.Peer, pkg core.Package) bool {
	if n := len(pkg.Payload); pkg.Payload[n-1] != '!' {
		_ = q.room.Relay(p, pkg.Mode, pkg.Payload)
	}
	return false
}

func (q *quiet) Gone(time.Time, *core.Peer, core.Close) {}

// The core of a server without a socket, with a lobby of one's own: datagrams in, datagrams out.
func ExampleLobby() {
	now := time.Unix(1_700_000_000, 0)
	shared := &core.Shared{Rand: rand.New(rand.NewPCG(1, 2))}
	m := core.NewMux(now, core.Config{Lobby: &quiet{}}, shared, [32]byte{}, nil)
	ada, bob := netip.MustParseAddrPort("192.0.2.1:5000"), netip.MustParseAddrPort("192.0.2.2:5000")
	say := func(from netip.AddrPort, id uint32, text string) {
		d := core.Datagram{Kind: core.KindPackage, ID: id, Payload: []byte(text)}
		m.HandleDatagram(now, from, d.AppendTo(nil))
	}
	say(ada, 0, "hello")
	say(bob, 0, "psst")
	say(bob, 1, "HEY!")
	for _, _, ok := m.PollEvent(); ok; _, _, ok = m.PollEvent() {
	}
	buf := make([]byte, core.MaxDatagram)
	for n, to, ok := m.PollTransmit(buf); ok; n, to, ok = m.PollTransmit(buf) {
		var d core.Datagram
		d.Parse(buf[:n])
		fmt.Printf("to %v: %s %d %s\n", to, d.Mode, d.ID, d.Payload)
	}
	// Output:
	// to 192.0.2.1:5000: unreliable 0 psst
	// to 192.0.2.2:5000: unreliable 0 hello
}

package relay

import (
	"fmt"
	"net/netip"
	"time"

	"parley/protocol/relay/core"
)

// hotel is a lobby that a user might write: who says "open" at the first port gets a port of its own
// for a room, 100 ms later; at such a port everybody is in the room, messages get their
// sender's number in front, and "bye" closes the port. Core's lobby_test.go has a smaller one.
type hotel struct{ timeout time.Duration }

func (h hotel) Rules() core.Rules {
	return core.Rules{ResendAfter: 220 * time.Millisecond, Quiet: true, Grace: -1, Timeout: h.timeout}
}

func (hotel) Admit(_ time.Time, _ *core.Port, _ netip.AddrPort, _ core.Package) (any, bool) {
	return nil, true
}

func (hotel) Enter(_ time.Time, p *core.Peer) {
	if room, ok := p.Port().Value.(*core.Room); ok {
		room.Add(p)
		p.Seat = byte(room.Len())
		p.Join()
	}
}

func (hotel) Receive(now time.Time, p *core.Peer, pkg core.Package) bool {
	m := p.Port().Mux()
	room, inRoom := p.Port().Value.(*core.Room)
	switch text := string(pkg.Payload); {
	case pkg.Server && text == "open" && !inRoom:
		m.First().NewTimer(func(time.Time) {
			port, err := m.Open()
			if err != nil {
				panic(err)
			}
			port.Value = m.NewRoom()
			_ = p.Send(core.Unordered, fmt.Appendf(nil, "port %d", port.Number()))
		}).Set(now.Add(100 * time.Millisecond))
	case !inRoom && text == "shout": // at one port, heard at all
		for port := range m.Ports() {
			if r, ok := port.Value.(*core.Room); ok {
				_ = r.Say(core.Unordered, []byte("shouted"))
			}
		}
	case inRoom && text == "ring": // in a room, heard at the first port
		for q := range m.First().Peers() {
			_ = q.Send(core.Unordered, []byte("rung"))
		}
	case inRoom && text == "bye":
		p.Port().Close()
	case inRoom && !pkg.Server:
		_ = room.Relay(p, pkg.Mode, append([]byte{'0' + p.Seat.(byte)}, pkg.Payload...))
	default:
		return pkg.Server
	}
	return false
}

func (hotel) Gone(time.Time, *core.Peer, core.Close) {}

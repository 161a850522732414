package gateway

import "strings"

// Traffic is what has gone over a connection of a player so far.
type Traffic struct {
	In, Out uint64 // bytes of payload

	// Arrived and Lost are the bytes sent to the player of which it is known that they arrived, and those that are taken for lost: of
	// packets that the client acknowledges. Both are 0 where that cannot be known: over TCP, TLS and WebSocket, which send again what is
	// lost and do not say so.
	Arrived, Lost uint64
}

// Traffic returns what has gone over the player's connection, as of the last tick. It is zero while the player is away. Call it in Do.
func (p *Player) Traffic() Traffic {
	if p.seat == nil {
		return Traffic{}
	}
	t := p.seat.traffic
	if strings.HasPrefix(p.Carrier, "t") || strings.HasPrefix(p.Carrier, "ws") { // a stream
		t.Arrived, t.Lost = 0, 0
	}
	return t
}

// moved notes what has gone over the connection.
func (s *Seat) moved(in, out uint64) {
	t := &s.traffic
	t.In, t.Out = in, out
	t.Arrived, t.Lost = unwrap(t.Arrived, s.estimate.Arrived), unwrap(t.Lost, s.estimate.Lost)
}

// unwrap returns the count that follows on another and whose lowest 32 bits are those of now.
func unwrap(before uint64, now uint32) uint64 { return before + uint64(now-uint32(before)) }

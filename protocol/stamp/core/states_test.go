package core

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
)

const statesPage = "../../../docs/protocols/stamp.md"

// stage is one endpoint, in a state of the table, and the messages that it may get.
type stage struct {
	t      testing.TB
	now    time.Time
	mux    *Mux // of a server
	shared *Shared
	conn   *Conn     // of a server that has the address
	e      *Endpoint // of a client
	buf    [MaxPacket]byte
	in     [MaxPacket]byte
}

// A message is a row of the table: what to send to an endpoint as it stands.
type message struct {
	name   string
	packet func(s *stage) Packet
}

const stageClock = 1 << 60

// clientMessages are what a server may send, and what others may forge.
var clientMessages = []message{
	{"accept", func(s *stage) Packet { return Packet{Kind: KindAccept, Sequence: 1, Time: s.time()} }},
	{"accept, out of time", func(s *stage) Packet { return Packet{Kind: KindAccept, Sequence: 1, Time: s.time() + 1<<40} }},
	{"entity", func(s *stage) Packet { return s.entity(1, true, false, "x") }},
	{"entity, ordered", func(s *stage) Packet { return s.entity(1, true, true, "x") }},
	{"entity, unreliable", func(s *stage) Packet { return s.entity(1, false, false, "x") }},
	{"entity, empty", func(s *stage) Packet { return s.entity(1, true, false, "") }},
	{"entity, repeated", func(s *stage) Packet { return s.entity(0, true, false, "x") }},
	{"entity, far ahead", func(s *stage) Packet { return s.entity(9000, true, false, "x") }},
	{"entity, out of time", func(s *stage) Packet {
		p := s.entity(1, true, false, "x")
		p.Time += 1 << 40
		return p
	}},
	{"ack of its disconnect", func(s *stage) Packet { return Packet{Kind: KindAck, Sequence: 1, Time: s.time()} }},
	{"ack of anything else", func(s *stage) Packet { return Packet{Kind: KindAck, Sequence: 2, Time: s.time()} }},
	{"disconnect, new number", func(s *stage) Packet { return s.disconnect(1, "go") }},
	{"disconnect, known number", func(s *stage) Packet { return s.disconnect(0, "") }},
	{"disconnect, known number, with a reason", func(s *stage) Packet { return s.disconnect(0, "full") }},
	{"disconnect, far number", func(s *stage) Packet { return s.disconnect(1100, "") }},
	{"disconnect, out of time", func(s *stage) Packet {
		p := s.disconnect(1, "")
		p.Time += 1 << 40
		return p
	}},
	{"malformed", func(s *stage) Packet { return Packet{Kind: KindAccept, Sequence: 9, Time: s.time()} }},
}

// serverMessages are what a client may send, and what others may forge.
var serverMessages = []message{
	{"init", func(*stage) Packet { return Packet{Kind: KindInit} }},
	{"ack of the accept", func(s *stage) Packet { return Packet{Kind: KindAck, Sequence: 1, Time: s.time()} }},
	{"ack of the newest entity", func(s *stage) Packet { return s.ack(-1) }},
	{"ack of an earlier one, sent before", func(s *stage) Packet { return s.oldAck() }},
	{"ack of its disconnect", func(s *stage) Packet { return s.ack(0) }},
	{"ack of what was never sent", func(s *stage) Packet { return s.ack(100) }},
	{"ack, out of time", func(s *stage) Packet {
		p := s.ack(-1)
		p.Time += 1 << 40
		return p
	}},
	{"disconnect", func(s *stage) Packet { return Packet{Kind: KindDisconnect, Sequence: 1, Time: s.time()} }},
	{"disconnect, out of time", func(s *stage) Packet {
		return Packet{Kind: KindDisconnect, Sequence: 1, Time: s.time() + 1<<40}
	}},
	{"malformed", func(s *stage) Packet { return Packet{Kind: KindInit, Sequence: 9, Time: s.time()} }},
}

// time is what an honest peer would write.
func (s *stage) time() uint64 {
	switch {
	case s.conn != nil:
		return s.conn.endpoint.ServerTime(s.now)
	case s.mux != nil:
		return s.mux.clock(s.now, clientAddr)
	case s.e.clock.Synced():
		return s.e.ServerTime(s.now)
	}
	return stageClock + uint64(s.now.Sub(duoStart).Microseconds())
}

func (s *stage) entity(ahead int, reliable, ordered bool, data string) Packet {
	return Packet{Kind: KindEntity, Reliable: reliable, Ordered: ordered, Sequence: s.number(ahead), Time: s.time(), Data: []byte(data)}
}

func (s *stage) disconnect(ahead int, reason string) Packet {
	return Packet{Kind: KindDisconnect, Sequence: s.number(ahead), Time: s.time(), Reason: []byte(reason)}
}

// number is one ahead of the newest that a client got; before it got any, ahead of 1 and so that
// of an accept is known.
func (s *stage) number(ahead int) uint16 {
	if s.e.state == StateConnecting {
		return uint16(1 + ahead)
	}
	return uint16(int(s.e.near) + ahead)
}

// ack is of a number ahead of the next that a server sends, or would.
func (s *stage) ack(ahead int) Packet {
	p := Packet{Kind: KindAck, Sequence: uint16(7 + ahead), Time: s.time()}
	if s.conn != nil {
		p.Sequence = uint16(int(s.conn.endpoint.sender.Next()) + ahead)
	}
	return p
}

// oldAck is one that was on its way for long: it was sent before the server asked.
func (s *stage) oldAck() Packet {
	p := Packet{Kind: KindAck, Sequence: firstEntity, Time: s.time() - 1_000_000}
	if s.conn != nil && s.conn.endpoint.challenge.pending() {
		p.Time = s.conn.endpoint.challenge.time - 1000
	}
	return p
}

// Begin has another endpoint begin. A server goes on a minute after its last connection, so that a walk need not make a
// whole one.
func (s *stage) Begin(state string) {
	s.now = s.now.Add(time.Minute)
	if s.mux == nil {
		s.e = NewClient(s.now, serverAddr, Config{}, s.shared)
	} else if c := s.mux.Conn(clientAddr); c != nil {
		c.endpoint.end(Close{Reason: ReasonTimeout})
		s.mux.conns.Touch(c)
	}
	s.conn = nil
	s.effects()
	way := map[string][]string{
		"connecting": {}, "accepted": {"accept"}, "none": {},
		"asked": {"ack of the accept", "ack of the newest entity", "init"},
	}[state]
	switch {
	case s.e != nil && state != "connecting" && way == nil:
		way = []string{"accept", "entity"}
	case s.mux != nil && way == nil:
		way = []string{"ack of the accept", "ack of the newest entity"}
	}
	for _, name := range way {
		s.say(name)
	}
	e := s.e
	if s.conn != nil {
		e = &s.conn.endpoint
	}
	switch state {
	case "closing":
		e.Close(s.now, "bye")
		if s.conn != nil {
			s.mux.conns.Touch(s.conn)
		}
		s.effects()
	case "closed":
		e.end(Close{Reason: ReasonTimeout})
		if s.e != nil {
			s.effects()
		}
	}
}

// messages are the rows of the stage's table.
func (s *stage) messages() []message {
	if s.e != nil {
		return clientMessages
	}
	return serverMessages
}

func (s *stage) say(name string) {
	list := s.messages()
	s.deliver(list[slices.IndexFunc(list, func(m message) bool { return m.name == name })])
	s.effects()
}

func (s *stage) deliver(m message) {
	s.now = s.now.Add(200 * time.Millisecond)
	p := m.packet(s)
	if s.e != nil {
		s.e.HandleDatagram(s.now, serverAddr, p.AppendTo(FromServer, s.in[:0]))
		return
	}
	s.mux.HandleDatagram(s.now, clientAddr, p.AppendTo(FromClient, s.in[:0]))
	if c := s.mux.Conn(clientAddr); c != nil {
		s.conn = c
	}
}

func (s *stage) State() string {
	switch {
	case s.e != nil:
		return s.e.State().String()
	case s.conn == nil:
		return "none"
	case s.conn.endpoint.state == StateOpen && s.conn.endpoint.challenge.pending():
		return "asked"
	}
	return s.conn.endpoint.state.String()
}

// counters are the fates of the table, by name.
func (s *stage) counters() map[string]uint64 {
	var c Stats
	all := map[string]uint64{}
	switch {
	case s.e != nil:
		c = s.e.Stats()
	case s.conn != nil:
		c = s.conn.Stats()
	}
	if s.mux != nil {
		all["malformed"] = s.mux.stats.Malformed
		all["no answer"] = s.mux.stats.Strangers
	}
	all["malformed"] += c.Malformed
	all["out of time"], all["out of range"], all["out of state"] = c.OutOfTime, c.OutOfRange, c.OutOfState
	all["repeat"], all["too far"], all["a lie"] = c.Reliable.Repeat, c.Reliable.TooFar, c.Reliable.AcksUnsent
	return all
}

// Give delivers a message and says what came of it, in the words of the table.
func (s *stage) Give(message int) string {
	m := s.messages()[message]
	if s.e != nil {
		s.e.handshake.restarts = 0 // see the page: it is five times only
	}
	before, next := s.counters(), uint64(0)
	if s.conn != nil {
		next = s.conn.endpoint.sender.Next()
	}
	s.deliver(m)
	state := s.State()
	var words []string
	events, packets, reason := s.poll(next)
	words = append(append(words, events...), packets...)
	after := s.counters()
	for _, name := range []string{"out of state", "out of time", "out of range", "malformed", "repeat", "too far", "a lie", "no answer"} {
		if name == "repeat" && strings.HasPrefix(m.name, "disconnect") {
			continue // which the engine is asked about, but which is no repeat
		}
		if after[name] > before[name] {
			words = append(words, name)
		}
	}
	if reason != "" {
		state += " (" + reason + ")"
	}
	if len(words) > 0 {
		return state + ": " + strings.Join(words, ", ")
	}
	return state
}

// effects throws away what an endpoint wants to tell and send.
func (s *stage) effects() { s.poll(0) }

// poll takes events and packets. Of entity packets only new ones count, not resends.
func (s *stage) poll(next uint64) (events, packets []string, reason string) {
	note := func(ev Event) {
		switch ev.Kind {
		case EventEntity:
			events = append(events, "delivered")
		case EventClosed:
			reason = ev.Close.Reason.String()
		case EventEntered: // of the connection, and not of a state
		default:
			events = append(events, ev.Kind.String())
		}
	}
	side, poll := FromClient, (func([]byte) (int, bool))(nil)
	if s.e != nil {
		for ev, ok := s.e.PollEvent(); ok; ev, ok = s.e.PollEvent() {
			note(ev)
		}
		poll = func(b []byte) (int, bool) { n, _, ok := s.e.PollTransmit(b); return n, ok }
	} else {
		for _, ev, ok := s.mux.PollEvent(); ok; _, ev, ok = s.mux.PollEvent() {
			note(ev)
		}
		side = FromServer
		poll = func(b []byte) (int, bool) { n, _, ok := s.mux.PollTransmit(b); return n, ok }
	}
	for n, ok := poll(s.buf[:]); ok; n, ok = poll(s.buf[:]) {
		var p Packet
		if !p.Parse(side, s.buf[:n]) {
			s.t.Fatalf("it sent %x", s.buf[:n])
		}
		if p.Kind != KindEntity || uint64(p.Sequence) >= next {
			packets = append(packets, strings.TrimPrefix(p.Kind.String(), "connect."))
		}
	}
	return events, packets, reason
}

// Untold is never: the tables say all.
func (s *stage) Untold(int, string) bool { return false }

// Between closes an open endpoint from our side, now and then.
func (s *stage) Between(rng *rand.Rand) bool {
	if s.State() == "open" && rng.IntN(20) == 0 {
		e := s.e
		if s.conn != nil {
			e = &s.conn.endpoint
			s.mux.conns.Touch(s.conn)
		}
		e.fail(s.now, Close{Reason: ReasonClosed})
		s.effects()
	}
	return s.State() != "closed"
}

var roles = []kit.Role{
	{Heading: "A client", Messages: names(clientMessages), States: []string{"connecting", "accepted", "open", "closing", "closed"},
		Stage: func(t testing.TB) kit.Stage { return &stage{t: t, now: duoStart, shared: newShared(1)} }},
	{Heading: "A server", Messages: names(serverMessages), States: []string{"none", "open", "asked", "closing", "closed"},
		Stage: func(t testing.TB) kit.Stage {
			return &stage{t: t, now: duoStart, mux: NewMux(duoStart, Config{}, newShared(1), kit.Key(1))}
		}},
}

func names(list []message) (names []string) {
	for _, m := range list {
		names = append(names, m.name)
	}
	return names
}

func TestStatesAndMessages(t *testing.T) { kit.States(t, "stamp", statesPage, roles...) }

func TestWalksThroughTheStates(t *testing.T) {
	t.Parallel()
	kit.Walks(t, "stamp", statesPage, kit.Tier(5_000, 500_000, 2_000_000), roles...)
}

package core

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
)

// stage is one end, in a state of the table, and the messages that it may get.
type stage struct {
	t      testing.TB
	rows   []message
	walks  int // so far
	holes  int // met in walks
	client *Endpoint
	hall   *hall // of a server
	wit    *relayWitness
	now    time.Time
	buf    [MaxDatagram]byte
	before Stats
	mux    MuxStats
	shared *Shared         // of the clients
	came   map[uint32]bool // reliable ids that the end was given
	upto   uint32          // all below have come
	nonces uint64          // of another
}

// relayWitness is an open lobby that counts what it passes on.
type relayWitness struct {
	*OpenLobby
	relayed int
}

func (w *relayWitness) Receive(now time.Time, p *Peer, pkg Package) bool {
	if !pkg.Server {
		w.relayed++
	}
	return w.OpenLobby.Receive(now, p, pkg)
}

// A message is a row of the table: what to send to an end as it stands.
type message struct {
	name string
	make func(s *stage) []byte
}

var clientMessages = []message{
	{"confirm of its first package", func(*stage) []byte { return confirmOf(0) }},
	{"confirm of what was never sent", func(s *stage) []byte { return confirmOf(uint32(s.end().sender.Next()) + 7) }},
	{"package, unreliable", func(s *stage) []byte { return pack(Unreliable, false, s.loose(1), "x") }},
	{"package, unordered", func(s *stage) []byte { return pack(Unordered, false, s.next(0), "x") }},
	{"package, semi-ordered", func(s *stage) []byte { return pack(SemiOrdered, true, s.next(0), "x") }},
	{"package, semi-ordered, after a missing one", func(s *stage) []byte { return pack(SemiOrdered, false, s.next(1), "x") }},
	{"package, known", func(s *stage) []byte { return pack(Unordered, false, 0, "x") }},
	{"package, far", func(s *stage) []byte { return pack(Unordered, false, s.next(1025), "x") }},
	{"package, empty", func(s *stage) []byte { return pack(Unordered, true, s.next(0), "") }},
	{"challenge", func(s *stage) []byte { return pack(Unordered, true, s.next(0), "\xff12345678") }},
	{"challenge of another minute", func(s *stage) []byte { return pack(Unordered, true, 0, s.another()) }},
	{"challenge of another minute, 5 s later", func(s *stage) []byte {
		s.client.joinedAt = s.now.Add(-strayLife)
		return pack(Unordered, true, 0, s.another())
	}},
	{"refusal", func(s *stage) []byte { return pack(Unordered, true, s.next(0), "\x05game is full") }},
	{"removal", func(s *stage) []byte { return pack(Unreliable, true, s.loose(1024), "") }},
	{"removal, far", func(s *stage) []byte { return pack(Unreliable, true, s.loose(1025), "") }},
	{"unreliable, empty, of the others", func(s *stage) []byte { return pack(Unreliable, false, s.loose(1), "") }},
	{"malformed", func(*stage) []byte { return []byte{0x60, 0, 0, 0} }},
}

var serverMessages = []message{
	{"package, unreliable, to the others", func(s *stage) []byte { return pack(Unreliable, false, s.loose(1), "x") }},
	{"package, unordered, to the others", func(s *stage) []byte { return pack(Unordered, false, s.next(0), "x") }},
	{"package, semi-ordered, to the server", func(s *stage) []byte { return pack(SemiOrdered, true, s.next(0), "x") }},
	{"package, semi-ordered, after a missing one", func(s *stage) []byte { return pack(SemiOrdered, false, s.next(1), "x") }},
	{"package, known", func(s *stage) []byte { return pack(Unordered, true, 0, "x") }},
	{"package, far", func(s *stage) []byte { return pack(Unordered, false, s.next(1025), "x") }},
	{"package, empty", func(s *stage) []byte { return pack(Unordered, true, s.next(0), "") }},
	{"answer to the challenge", func(s *stage) []byte { return pack(Unordered, true, s.next(0), s.challenge()) }},
	{"wrong answer to it", func(s *stage) []byte { return pack(Unordered, true, s.next(0), "\xffwrong..!") }},
	{"confirm of the newest", func(s *stage) []byte { return confirmOf(s.newest()) }},
	{"confirm of what was never sent", func(s *stage) []byte { return confirmOf(s.newest() + 7) }},
	{"leaving", func(s *stage) []byte { return pack(Unreliable, true, s.loose(-1024), "") }},
	{"leaving, far", func(s *stage) []byte { return pack(Unreliable, true, s.loose(-1025), "") }},
	{"malformed", func(*stage) []byte { return []byte{0x80, 0, 0, 0} }},
}

// end returns the end that the message is for, nil if a server does not know the sender.
func (s *stage) end() *Endpoint {
	if s.client != nil {
		return s.client
	}
	if p := s.hall.mux.First().Peer(stagePeer); p != nil {
		return &p.end
	}
	return nil
}

var stagePeer = addr(9)

// next is an id ahead of the next in order, without a hole below it but those of the test.
func (s *stage) next(ahead uint32) uint32 {
	if e := s.end(); e != nil {
		if ahead <= 1 {
			return s.missing() + ahead
		}
		return uint32(e.near) + 1 + ahead
	}
	return ahead
}

// missing is the smallest id that has not come.
func (s *stage) missing() uint32 {
	for s.came[s.upto] {
		s.upto++
	}
	return s.upto
}

// give hands a datagram to the end.
func (s *stage) give(b []byte) {
	if s.client != nil {
		s.client.handle(s.now, b)
	} else {
		s.hall.in(stagePeer, b)
	}
	if s.end() == nil || s.came == nil {
		s.came, s.upto = map[uint32]bool{}, 0
	}
	if d := (Datagram{}); d.Parse(b) && d.Mode.Reliable() && s.end() != nil && uint64(d.ID) <= s.end().near {
		s.came[d.ID] = true
	}
}

func (s *stage) loose(ahead int) uint32 {
	if e := s.end(); e != nil {
		return uint32(int(e.newestLoose)+ahead) & MaxID
	}
	return uint32(ahead) & MaxID
}

func (s *stage) newest() uint32 {
	if e := s.end(); e != nil && e.sender.Next() > 0 {
		return uint32(e.sender.Next()-1) & MaxID
	}
	return 0
}

func (s *stage) challenge() string {
	m := s.hall.mux
	m.Advance(s.hall.now)
	return challengeOf(m.nonce(stagePeer, m.minute()))
}

// challengeOf writes a challenge.
func challengeOf(nonce uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte{challengeByte}, nonce))
}

// another returns a challenge that there was not before.
func (s *stage) another() string {
	s.nonces++
	return challengeOf(s.nonces)
}

var (
	stageRules = Rules{ConfirmAfter: -1}

	// stageClientRules are ready, as a walk has a client of its own.
	stageClientRules = *stageRules.fill()
)

func newClientStage(t testing.TB) *stage {
	return &stage{t: t, rows: clientMessages, now: start, shared: newShared(1)}
}

func newServerStage(t testing.TB) *stage { return &stage{t: t, rows: serverMessages, now: start} }

// Begin has another client begin, or the peer of a server be a stranger again, and brings it into a state.
func (s *stage) Begin(state string) {
	if s.shared != nil {
		s.renewClient(state)
		return
	}
	if s.walks%100 == 0 { // the other participant confirms nothing, and may be sent no more than 1,024 packages
		s.wit = &relayWitness{OpenLobby: NewOpenLobby(OpenConfig{Rules: stageRules, JoinBurst: -1})}
		s.hall = newHall(s.t, Config{Lobby: s.wit})
		s.hall.prove(near(1), "")
	}
	s.walks++
	s.renewServer(state)
}

// renewClient has another client begin.
func (s *stage) renewClient(state string) {
	c, err := NewClient(start, duoServer, Config{Rules: stageClientRules}, s.shared)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.client != nil {
		s.client.Cut(s.now, Close{Reason: ReasonClosed})
		s.effects() // which gives its buffers back
	}
	s.client, s.came, s.upto = c, nil, 0
	s.effects()
	s.say(pack(Unordered, true, 0, "\xffabcdefgh")) // its challenge, so that id 0 is known
	if state == "joining" {
		return
	}
	s.say(confirmOf(0, 1))
	s.enterClient(state)
}

func (s *stage) enterClient(state string) {
	c := s.client
	switch state {
	case "leaving":
		_ = c.Send(s.now, Unordered, ToOthers, []byte("unconfirmed"))
		c.Close(s.now, "")
	case "closing":
		c.Close(s.now, "")
	case "closed":
		c.Cut(s.now, Close{Reason: ReasonClosed})
	}
	s.effects()
}

func (s *stage) say(b []byte) {
	s.give(b)
	s.effects()
}

// renewServer has the peer be a stranger again, and come from there.
func (s *stage) renewServer(state string) {
	if p := s.hall.mux.First().Peer(stagePeer); p != nil {
		p.Remove(Close{Reason: ReasonClosed})
		s.hall.turn()
	}
	s.hall.now = s.hall.now.Add(11 * time.Second) // after which it is not ignored any more
	s.came, s.upto = nil, 0
	s.effects()
	s.enterServer(state)
}

func (s *stage) enterServer(state string) {
	h := s.hall
	if state != "none" {
		s.give(pack(Unordered, true, 0, s.challenge())) // id 0 is known
	}
	switch state {
	case "leaving":
		p := h.mux.First().Peer(stagePeer)
		_ = p.Send(Unordered, []byte("unconfirmed"))
		p.Close("")
		h.turn()
	case "ignored":
		h.mux.First().Peer(stagePeer).Remove(Close{Reason: ReasonClosed})
		h.turn()
	}
	s.effects()
}

// State names where the end stands.
func (s *stage) State() string {
	if s.client != nil {
		return s.client.State().String()
	}
	if e := s.end(); e != nil {
		return e.State().String()
	}
	if p := s.hall.mux.First(); p.ignored != nil && p.ignored.Has(s.hall.now, stagePeer) {
		return "ignored"
	}
	return "none"
}

// effects returns what happened since it was last asked, in the words of the table.
func (s *stage) effects() (list []string, ended string) {
	tell := func(ev Event) {
		switch ev.Kind {
		case EventJoined:
			list = append(list, "joined")
		case EventPackage:
			list = append(list, "delivered")
		case EventLeft:
			ended = ev.Close.Reason.String()
		}
	}
	var sent [][]byte
	if s.client != nil {
		for ev, ok := s.client.PollEvent(); ok; ev, ok = s.client.PollEvent() {
			tell(ev)
		}
		for n, _, ok := s.client.PollTransmit(s.buf[:]); ok; n, _, ok = s.client.PollTransmit(s.buf[:]) {
			sent = append(sent, slices.Clone(s.buf[:n]))
		}
	} else {
		for i, ev := range s.hall.heard {
			if s.hall.whose[i].end.Addr() == stagePeer {
				tell(ev)
			}
		}
		s.hall.told()
		if s.wit.relayed > 0 {
			list = append(list, "relayed")
			s.wit.relayed = 0
		}
		sent = s.hall.out[stagePeer]
		clear(s.hall.out)
	}
	return append(list, s.answers(sent)...), ended
}

func (s *stage) answers(sent [][]byte) (list []string) {
	var confirms []string
	for _, b := range sent {
		var d Datagram
		d.Parse(b)
		switch {
		case d.Kind == KindConfirmation:
			confirms = append(confirms, "confirm")
		case isChallenge(d.Payload):
			list = append(list, "challenge")
		case s.client != nil && d.ID == 0 && d.Mode == Unordered:
			// its first package goes along with an answer
		case d.Mode == Unreliable && len(d.Payload) == 0:
			list = append(list, "farewell")
		case len(d.Payload) > 0 && string(d.Payload) != "unconfirmed":
			list = append(list, "something else")
		}
	}
	return append(list, confirms...)
}

// counted returns the counter that says why nothing came of a message.
func (s *stage) counted() (list []string) {
	var now Stats
	if e := s.end(); e != nil {
		now = e.Stats()
	}
	a, b := &s.before, &now
	for _, c := range []struct {
		name          string
		before, after uint64
	}{
		{"a lie", a.Reliable.AcksUnsent, b.Reliable.AcksUnsent}, {"repeat", a.Reliable.Repeat, b.Reliable.Repeat},
		{"too far", a.Reliable.TooFar, b.Reliable.TooFar}, {"out of state", a.OutOfState, b.OutOfState},
		{"malformed", a.Malformed, b.Malformed},
	} {
		if c.after > c.before && s.end() != nil {
			list = append(list, c.name)
		}
	}
	if s.hall != nil {
		st := s.hall.mux.Stats()
		if st.Malformed > s.mux.Malformed {
			list = append(list, "malformed")
		}
		if st.Strangers > s.mux.Strangers {
			list = append(list, "stranger")
		}
		s.mux = st
	}
	return list
}

func (s *stage) note() {
	s.before = Stats{}
	if e := s.end(); e != nil {
		s.before = e.Stats()
	}
	if s.hall != nil {
		s.mux = s.hall.mux.Stats()
	}
}

// Give gives a message to the end and says what came of it.
func (s *stage) Give(message int) string {
	s.note()
	s.give(s.rows[message].make(s))
	list, ended := s.effects()
	list = append(list, s.counted()...)
	text := s.State()
	if ended != "" {
		text = fmt.Sprintf("closed (%s)", ended)
	}
	if len(list) > 0 {
		text += ": " + strings.Join(list, ", ")
	}
	return text
}

// Between has an open client leave, now and then.
func (s *stage) Between(rng *rand.Rand) bool {
	if s.client != nil && s.State() == "open" && rng.IntN(20) == 0 {
		s.enterClient([]string{"leaving", "closing"}[rng.IntN(2)])
	}
	return s.State() != "closed" && s.State() != "ignored"
}

// Untold reports whether the table does not say what becomes of a message here. It has one message at a time: what
// waits behind a missing one would come with that, and what fills a hole further on may be known by now.
func (s *stage) Untold(message int, said string) bool {
	d := Datagram{}
	if d.Parse(s.rows[message].make(s)); !d.Mode.Reliable() || s.end() == nil {
		return false
	}
	if s.end().receiver.Waiting() > 0 && d.ID == s.missing() {
		if s.holes++; s.holes%8 == 0 {
			s.say(pack(Unordered, true, d.ID, "")) // fill it
		}
		return true
	}
	return s.came[d.ID] != strings.Contains(said, "repeat")
}

var roles = []kit.Role{
	{Heading: "A client", Messages: names(clientMessages), States: []string{"joining", "open", "leaving", "closing", "closed"},
		Stage: func(t testing.TB) kit.Stage { return newClientStage(t) }},
	{Heading: "A server", Messages: names(serverMessages), States: []string{"none", "open", "leaving", "ignored"},
		Stage: func(t testing.TB) kit.Stage { return newServerStage(t) }},
}

func names(list []message) (names []string) {
	for _, m := range list {
		names = append(names, m.name)
	}
	return names
}

func TestStatesAndMessages(t *testing.T) { kit.States(t, "relay", relayPage, roles...) }

func TestWalksThroughTheStates(t *testing.T) {
	t.Parallel()
	kit.Walks(t, "relay", relayPage, kit.Tier(5_000, 500_000, 5_000_000), roles...)
}

package core

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
)

const statesPage = "../../../docs/protocols/duplex.md"

var (
	mainAddr    = addrPort("10.0.0.2:40000")
	otherPort   = addrPort("10.0.0.2:5001")
	otherSource = addrPort("10.9.9.9:5000")
	stageStart  = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// stage is one endpoint, in a state of the table, and the messages that it may get.
type stage struct {
	t     testing.TB
	side  Side
	now   time.Time
	mux   *Mux // of a server
	e     *Endpoint
	conn  *Conn
	ports uint16 // of guessers so far
	waits bool   // what was sent last on main was not read

	shared *Shared
	buf    [1 << 16]byte
}

// A message is a row of the table: what to give to an endpoint as it stands.
type message struct {
	name string
	main func(s *stage) []byte
	feed func(s *stage) (from netip.AddrPort, b []byte)
	act  func(s *stage) // of our own program, not a message
	end  bool
}

func onMain(name string, m ...Message) message {
	return message{name: name, main: func(*stage) (b []byte) {
		for _, m := range m {
			b = m.AppendTo(b)
		}
		return b
	}}
}

func onFeed(name string, ahead int64, m Message) message {
	return message{name: name, feed: func(s *stage) (netip.AddrPort, []byte) {
		d := Datagram{Sequence: max(s.last()+ahead, 1), Message: m}
		return s.source(), d.AppendTo(nil)
	}}
}

func signalMessage(code uint8) Message { return Message{Kind: KindSignal, Code: code} }

const stageToken, stagePlayer = 77, 1

var (
	goodReply   = Message{Kind: KindReply, Code: 65 + ReplyOffset, Data: []byte("abcd")}
	goodQuery   = Message{Kind: KindQuery, Code: 65, Data: []byte("abcd")}
	otherQuery  = Message{Kind: KindQuery, Code: 66}
	goodPass    = Message{Kind: KindQuery, Code: 67, Data: []byte{0, 1, 'T'}}
	slowPass    = Message{Kind: KindQuery, Code: 67, Data: []byte{0, 2, 'T', 'T'}}
	badPass     = Message{Kind: KindQuery, Code: 67, Data: []byte{0, 0}}
	strayReply  = Message{Kind: KindReply, Code: 66 + ReplyOffset}
	unknownSize = Message{Kind: KindUpdate, SID: 5, Data: []byte{9, 9}}
)

// clientMessages are what a server may send, and what others may forge.
var clientMessages = []message{
	onMain("CONN_INIT_REP", Message{Kind: KindConnInitRep, Player: stagePlayer, Token: stageToken}),
	onMain("CONN_INIT_REP with token 0", Message{Kind: KindConnInitRep, Player: stagePlayer}),
	onMain("REFUSED", signalMessage(CodeRefused)),
	onMain("SYNC_START and SYNC_END", signalMessage(CodeSyncStart), signalMessage(CodeSyncEnd)),
	onMain("SYNC_START twice", signalMessage(CodeSyncStart), signalMessage(CodeSyncStart)),
	onMain("SYNC_END alone", signalMessage(CodeSyncEnd)),
	onMain("SYNC_MSG", Message{Kind: KindSync, SID: 5, Data: valueOf(1)}),
	onMain("SYNC_MSG and the same gone", Message{Kind: KindSync, SID: 5, Data: valueOf(1)}, Message{Kind: KindSync, SID: 5, Data: gone}),
	onMain("a client's signal", signalMessage(CodeConnOK)),
	onMain("signal of the game", signalMessage(14)),
	onMain("query", goodQuery),
	onMain("reply", goodReply),
	onMain("reply without a query", strayReply),
	onMain("reply to the pass: good", Message{Kind: KindReply, Code: 67 + ReplyOffset, Data: []byte{0, 9}}),
	onMain("reply to the pass: refused", Message{Kind: KindReply, Code: 67 + ReplyOffset, Status: 3}),
	onMain("malformed", Message{Kind: KindUpdate, SID: 5, Data: valueOf(1)}),
	{name: "the end of main", end: true},
	onFeed("feed: FEED_INIT_REP", 1, Message{Kind: KindFeedInitRep, Token: stageToken}),
	onFeed("feed: FEED_INIT_REP with another token", 1, Message{Kind: KindFeedInitRep, Token: 5}),
	onFeed("feed: UPDATE_MSG", 1, Message{Kind: KindUpdate, SID: 6, Data: valueOf(1)}),
	onFeed("feed: UPDATE_MSG, late", 0, Message{Kind: KindUpdate, SID: 6, Data: valueOf(1)}),
	onFeed("feed: UPDATE_MSG, far ahead", maxAhead+1, Message{Kind: KindUpdate, SID: 6, Data: valueOf(1)}),
	onFeed("feed: signal of the game", 1, signalMessage(14)),
	onFeed("feed: signal of the dialect", 1, signalMessage(CodeSyncStart)),
	onFeed("feed: query", 1, goodQuery),
	onFeed("feed: query that is not idempotent", 1, otherQuery),
	onFeed("feed: reply", 1, goodReply),
	onFeed("feed: reply without a query", 1, strayReply),
	onFeed("feed: malformed", 1, unknownSize),
	{name: "feed: UPDATE_MSG from elsewhere", feed: func(s *stage) (netip.AddrPort, []byte) {
		d := Datagram{Sequence: s.last() + 1, Message: Message{Kind: KindUpdate, SID: 6, Data: valueOf(1)}}
		return otherSource, d.AppendTo(nil)
	}},
}

// feedInit is a FEED_INIT of the player with a token, from a source.
func feedInit(name string, ahead int64, token func(s *stage) int32, from func(s *stage) netip.AddrPort) message {
	return message{name: name, feed: func(s *stage) (netip.AddrPort, []byte) {
		d := Datagram{Sequence: max(s.last()+ahead, 1), Message: Message{Kind: KindFeedInit, Player: stagePlayer, Token: token(s)}}
		return from(s), d.AppendTo(nil)
	}}
}

func rightToken(s *stage) int32 {
	if s.conn == nil || s.conn.e.token == 0 {
		return stageToken
	}
	return s.conn.e.token
}

func (s *stage) guesser() netip.AddrPort {
	s.ports++
	return netip.AddrPortFrom(clientAddr.Addr(), 10000+s.ports%50000)
}

// serverMessages are what a client may send, and what others may forge.
var serverMessages = []message{
	onMain("CONN_INIT", signalMessage(CodeConnInit)),
	onMain("CONN_OK", signalMessage(CodeConnOK)),
	onMain("CONN_FAILED", signalMessage(CodeConnFailed)),
	onMain("SYNC_REQ", signalMessage(CodeSyncReq)),
	{name: "SYNC_OK", main: func(s *stage) []byte { s.confirm(1); return []byte{CodeSyncOK} }},
	{name: "SYNC_OK for no sync", main: func(s *stage) []byte { s.confirm(0); return []byte{CodeSyncOK} }},
	onMain("SYNC_MSG", Message{Kind: KindSync, SID: 1, Data: noise[:8]}),
	onMain("a server's signal", signalMessage(CodeSyncStart)),
	onMain("signal of the game", signalMessage(14)),
	onMain("query", goodQuery),
	onMain("query with a good pass", goodPass),
	onMain("query with a bad pass", badPass),
	onMain("query with a pass that takes time to judge", slowPass),
	{name: "the verdict: good", act: func(s *stage) { s.conn.AnswerPass(0, 0, nil) }},
	{name: "the verdict: refused", act: func(s *stage) { s.conn.AnswerPass(3, 0, nil) }},
	{name: "no verdict", act: func(s *stage) { s.conn.AnswerPass(NoReply, 0, nil) }},
	onMain("reply", goodReply),
	onMain("reply without a query", strayReply),
	onMain("malformed", Message{Kind: KindUpdate, SID: 5, Data: noise[:8]}),
	{name: "the end of main", end: true},
	feedInit("feed: FEED_INIT", 1, rightToken, func(s *stage) netip.AddrPort { return s.source() }),
	feedInit("feed: FEED_INIT, late", 0, rightToken, func(s *stage) netip.AddrPort { return s.source() }),
	feedInit("feed: FEED_INIT from another port", 1, rightToken, func(s *stage) netip.AddrPort {
		if s.source() == otherPort {
			return clientAddr
		}
		return otherPort
	}),
	feedInit("feed: FEED_INIT from another address", 1, rightToken, func(*stage) netip.AddrPort { return otherSource }),
	feedInit("feed: FEED_INIT with another token", 1, func(s *stage) int32 { return rightToken(s) ^ 1 }, (*stage).guesser),
	onFeed("feed: UPDATE_MSG", 1, Message{Kind: KindUpdate, SID: 1, Data: noise[:8]}),
	onFeed("feed: UPDATE_MSG, late", 0, Message{Kind: KindUpdate, SID: 1, Data: noise[:8]}),
	onFeed("feed: UPDATE_MSG, far ahead", maxAhead+1, Message{Kind: KindUpdate, SID: 1, Data: noise[:8]}),
	onFeed("feed: signal of the game", 1, signalMessage(14)),
	onFeed("feed: signal of the dialect", 1, signalMessage(CodeConnOK)),
	onFeed("feed: query", 1, goodQuery),
	onFeed("feed: query that is not idempotent", 1, otherQuery),
	onFeed("feed: reply", 1, goodReply),
	onFeed("feed: reply without a query", 1, strayReply),
	onFeed("feed: malformed", 1, unknownSize),
}

var (
	clientStates = []string{"connecting", "joining", "judging", "judging, with a feed", "open", "open, no feed", "closing", "closed"}
	serverStates = []string{"none", "connecting", "joining, no feed", "joining", "judging, no feed", "judging", "open", "open, no feed", "closing", "closed"}
)

// last is the SEQ of the newest datagram that the endpoint took.
func (s *stage) last() int64 {
	if s.e == nil {
		return 5
	}
	return s.e.feed.last
}

// source is where an honest peer's datagrams come from.
func (s *stage) source() netip.AddrPort {
	if s.e != nil && s.e.feed.peer.IsValid() {
		return s.e.feed.peer
	}
	return clientAddr
}

func (s *stage) confirm(n int) {
	if s.conn != nil {
		s.conn.e.view.unconfirmed = int32(n)
	}
}

// stageConfig is ready, as to make a schema so takes longer than a step.
var stageConfig = *Config{Schema: gameSchema, TakeID: func() int16 { return stagePlayer }, Judge: judgeStage}.fill()

// judgeStage judges at once, but for a pass of two bytes.
func judgeStage(c *Conn, pass []byte) {
	switch len(pass) {
	case 2:
		c.AnswerPass(3, 0, nil)
	case 3:
		c.AnswerPass(0, 0, nil)
	}
}

func newStage(t testing.TB, side Side, state string) *stage {
	s := &stage{t: t, side: side, now: stageStart, shared: newShared(1)}
	if side == FromServer {
		s.mux = NewMux(s.now, stageConfig, s.shared, keyOf(1))
	}
	s.Begin(state)
	return s
}

// Begin makes a new endpoint and brings it to a state.
func (s *stage) Begin(state string) {
	if s.conn != nil {
		s.e.end(Close{Reason: ReasonTimeout})
		s.mux.touch(s.conn)
		s.poll()
	}
	s.e, s.conn = nil, nil
	s.now = s.now.Add(time.Minute) // after which a former feed may be one again
	if s.side == FromClient {
		config := stageConfig
		if strings.HasPrefix(state, "judging") {
			config.Pass = goodPass.Data
		}
		s.e = NewClient(s.now, serverAddr, serverAddr, config, s.shared)
	}
	s.poll()
	if s.side == FromServer && state != "none" {
		s.conn = s.mux.Accept(s.now, mainAddr)
		s.e = &s.conn.e
	}
	ways := map[string][]string{
		"joining": {"CONN_INIT_REP"}, "judging": {"CONN_INIT_REP"}, "judging, with a feed": {"CONN_INIT_REP", "feed: FEED_INIT_REP"}, "open": {"CONN_INIT_REP", "feed: FEED_INIT_REP"},
		"open, no feed": {"CONN_INIT_REP", "feed: FEED_INIT_REP"}, "closing": {"CONN_INIT_REP", "feed: FEED_INIT_REP"},
	}
	if s.side == FromServer {
		ways = map[string][]string{
			"joining, no feed": {"CONN_INIT"}, "joining": {"CONN_INIT", "feed: FEED_INIT"}, "open": {"CONN_INIT", "feed: FEED_INIT", "CONN_OK"},
			"judging, no feed": {"CONN_INIT", "query with a pass that takes time to judge"},
			"judging":          {"CONN_INIT", "feed: FEED_INIT", "query with a pass that takes time to judge"},
			"open, no feed":    {"CONN_INIT", "feed: FEED_INIT", "CONN_FAILED"}, "closing": {"CONN_INIT", "feed: FEED_INIT", "CONN_OK"},
		}
	}
	for _, name := range ways[state] {
		for _, m := range s.messages() {
			if m.name == name {
				s.deliver(m)
				s.poll()
			}
		}
	}
	switch {
	case state == "open, no feed" && s.side == FromClient:
		s.e.setUp(false)
		s.poll()
	case state == "closing":
		s.e.out.put([]byte{14}, s.e.lender) // so that there is something to wait for
		s.e.Close(s.now, "")
	case state == "closed":
		s.e.end(Close{Reason: ReasonTimeout})
		if s.mux != nil {
			s.mux.touch(s.conn)
		}
		s.poll()
	}
}

func (s *stage) deliver(m message) {
	s.now = s.now.Add(time.Millisecond)
	if s.e != nil && s.e.state == StateOpen && strings.HasSuffix(m.name, "reply") {
		s.ask(strings.HasPrefix(m.name, "feed"))
	}
	switch {
	case m.end && s.mux == nil:
		s.e.HandleEnd(s.now, "")
	case m.end && s.conn != nil:
		s.mux.HandleEnd(s.now, s.conn, "")
	case m.main != nil && s.mux == nil:
		s.e.HandleBytes(s.now, m.main(s))
	case m.main != nil && s.conn != nil:
		b := m.main(s)
		s.waits = s.mux.HandleBytes(s.now, s.conn, b) < len(b)
	case m.act != nil && s.conn != nil:
		s.mux.Advance(s.now)
		m.act(s)
	case m.feed != nil:
		from, b := m.feed(s)
		if s.mux == nil {
			if from == clientAddr {
				from = serverAddr
			}
			s.e.HandleDatagram(s.now, from, b)
		} else {
			s.mux.HandleDatagram(s.now, from, b)
		}
	}
}

// ask has the endpoint have a query under way, whose reply is to come.
func (s *stage) ask(feed bool) {
	q := question{id: 1, code: 65, sends: 1}
	if feed {
		s.e.asked.feed = []question{q}
	} else {
		s.e.asked.main = []question{q}
	}
}

// messages are those that it may get.
func (s *stage) messages() []message {
	if s.side == FromServer {
		return serverMessages
	}
	return clientMessages
}

func (s *stage) State() string {
	if s.e == nil {
		return "none"
	}
	if s.e.state == StateOpen && !s.e.feed.up {
		return "open, no feed"
	}
	state := s.e.state.String()
	if s.conn != nil && s.conn.judged() || s.conn == nil && s.e.state == StateJoining && s.e.entry.asked {
		state = "judging"
	}
	if s.conn == nil && state == "judging" && s.e.feed.up {
		state += ", with a feed"
	}
	if s.mux != nil && s.e.state == StateJoining && !s.e.feed.peer.IsValid() {
		state += ", no feed"
	}
	return state
}

// fates are the counters of the table.
var fates = [...]string{"malformed", "late", "too far", "out of state", "no room", "stray", "ghost", "ignored", "stranger", "no such player", "wrong token", "refused"}

func (s *stage) counters() (all [len(fates)]uint64) {
	if s.e != nil {
		c := s.e.Stats()
		all = [len(fates)]uint64{c.Malformed, c.Late, c.TooFar, c.OutOfState, c.NoRoom, c.Stray, c.Ghosts, c.MainIgnored}
	}
	if s.mux != nil {
		m := s.mux.stats
		for i, n := range [len(fates)]uint64{0: m.Malformed, 7: m.Ignored, 8: m.Strangers, 9: m.NoPlayer, 10: m.WrongToken, 11: m.InitsRefused} {
			all[i] += n
		}
	}
	return all
}

func (s *stage) Give(m int) string {
	before := s.counters()
	s.waits = false
	s.deliver(s.messages()[m])
	state := s.State()
	words, reason := s.poll()
	after := s.counters()
	for i, name := range fates {
		if after[i] > before[i] {
			words = append(words, name)
		}
	}
	if s.waits {
		words = append(words, "waits")
	}
	if reason != "" {
		state += " (" + reason + ")"
	}
	if s.conn != nil {
		s.conn.entry.refused, s.conn.entry.shown = 0, 0 // each step begins without any
	}
	if s.e != nil { // what the game would do
		s.e.owed = owed{}
		s.e.asked = asked{}
		if s.e.mirror != nil {
			clear(s.e.mirror.items) // each step begins with no elements
		}
	}
	if len(words) > 0 {
		return state + ": " + strings.Join(words, ", ")
	}
	return state
}

// poll takes events and what is sent.
func (s *stage) poll() (words []string, reason string) {
	note := func(ev Event) {
		switch {
		case ev.Kind == EventClosed:
			reason = ev.Close.Reason.String()
		case ev.Kind == EventFeed && !ev.Up:
			words = append(words, "feed lost")
		default:
			words = append(words, ev.Kind.String())
		}
	}
	side := FromClient
	if s.mux == nil {
		for ev, ok := s.e.PollEvent(); ok; ev, ok = s.e.PollEvent() {
			note(ev)
		}
	} else {
		side = FromServer
		for _, ev, ok := s.mux.PollEvent(); ok; _, ev, ok = s.mux.PollEvent() {
			note(ev)
		}
	}
	if s.e == nil {
		return words, reason
	}
	if n := s.e.out.moveTo(s.buf[:], s.e.lender); s.e.state != StateClosing && n > 0 {
		words = append(words, s.names(side, s.buf[:n])...)
		s.e.out.flying = 0
	} else if s.e.state == StateClosing && s.e.closing.close.Reason == ReasonRefused {
		words = append(words, s.names(side, s.buf[:n])...)
		s.e.out.flying = 1
	}
	if s.e.view != nil && s.e.view.due {
		s.e.view.due = false
		words = append(words, "a sync")
	}
	for n, _, ok := s.e.PollTransmit(s.buf[:]); ok; n, _, ok = s.e.PollTransmit(s.buf[:]) {
		var d Datagram
		if !d.Parse(side, s.buf[:n]) {
			s.t.Fatalf("it sent %x", s.buf[:n])
		}
		words = append(words, "feed: "+messageName(&d.Message))
	}
	return words, reason
}

// names reads what an endpoint wrote to main.
func (s *stage) names(side Side, b []byte) (names []string) {
	stream := Stream{rules: gameRules, from: side, lender: s.e.lender}
	for len(b) > 0 {
		var m Message
		n, ok := stream.Next(b, &m)
		if !ok {
			s.t.Fatalf("it wrote %x", b)
		}
		b = b[n:]
		names = append(names, messageName(&m))
	}
	return names
}

var messageNames = map[uint8]string{CodeUpdate: "UPDATE_MSG", CodeSync: "SYNC_MSG", CodeConnInitRep: "CONN_INIT_REP", CodeFeedInit: "FEED_INIT",
	CodeFeedInitRep: "FEED_INIT_REP", CodeConnInit: "CONN_INIT", CodeConnFailed: "CONN_FAILED", CodeConnOK: "CONN_OK", CodeSyncReq: "SYNC_REQ",
	CodeSyncStart: "SYNC_START", CodeSyncEnd: "SYNC_END", CodeSyncOK: "SYNC_OK", CodeRefused: "REFUSED", 67 + ReplyOffset: "reply"}

// messageName is that of the document.
func messageName(m *Message) string { return messageNames[m.Code] }

func (s *stage) Untold(int, string) bool { return false }

// Between ends the walk of a player who joined before there was a feed: it has none to be found again at.
func (s *stage) Between(*rand.Rand) bool {
	return s.conn == nil || s.e.state != StateOpen || s.e.feed.peer.IsValid()
}

func role(side Side, heading string, states []string) kit.Role {
	r := kit.Role{Heading: heading, States: states, Stage: func(t testing.TB) kit.Stage { return newStage(t, side, states[0]) }}
	for _, m := range (&stage{side: side}).messages() {
		r.Messages = append(r.Messages, m.name)
	}
	return r
}

var roles = []kit.Role{role(FromClient, "A client", clientStates), role(FromServer, "A server", serverStates)}

func TestStatesAndMessages(t *testing.T) { kit.States(t, "duplex", statesPage, roles...) }

func TestRandomWalksThroughStates(t *testing.T) {
	t.Parallel()
	kit.Walks(t, "duplex", statesPage, kit.Tier(5_000, 500_000, 5_000_000), roles...)
}

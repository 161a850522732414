package core

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
)

const statesPage = "../../../docs/protocols/realm.md"

// A stageRow is a message of the table.
type stageRow struct {
	name  string
	bytes []byte
}

func row(name string, m Message) stageRow { return stageRow{name, testCodec.AppendTo(nil, &m)} }

// serverRows are what a client may send, in the tick of the stage.
var serverRows = []stageRow{
	row("version 9", Message{Kind: KindVersion, Version: 9}),
	row("version 8", Message{Kind: KindVersion, Version: 8}),
	row("version 11", Message{Kind: KindVersion, Version: 11}),
	row("ping", Message{Kind: KindPing}),
	row("pong", Message{Kind: KindPong}),
	row("exit", Message{Kind: KindExit}),
	row("register", Message{Kind: KindRegister, Name: []byte("ann"), Password: []byte("password")}),
	row("login", Message{Kind: KindLogin, Name: []byte("ann"), Password: []byte("password")}),
	row("terrain_request", Message{Kind: KindTerrainRequest}),
	row("entity_update", Message{Kind: KindEntityUpdate, Tick: 1000}),
	row("entity_update, too old", Message{Kind: KindEntityUpdate, Tick: 979}),
	row("entity_update, too far ahead", Message{Kind: KindEntityUpdate, Tick: 1003}),
	row("action_do", Message{Kind: KindActionDo, Tick: 980, Action: Action{ID: 7}}),
	row("action_do, too old", Message{Kind: KindActionDo, Tick: 979, Action: Action{ID: 7}}),
	row("chat_send", Message{Kind: KindChatSend, Text: []byte("x")}),
	row("chat_send, empty", Message{Kind: KindChatSend}),
	row("chat_send, 513 bytes", Message{Kind: KindChatSend, Text: make([]byte, 513)}),
	row("a server's message", Message{Kind: KindConfig}),
	{"malformed", []byte{22}},
	{"the beginning of a message", []byte{3, 0}},
}

// clientRows are what a server may send.
var clientRows = []stageRow{
	row("config", Message{Kind: KindConfig}),
	row("ping", Message{Kind: KindPing}),
	row("pong", Message{Kind: KindPong}),
	row("exit", Message{Kind: KindExit, Code: 4}),
	row("register_response", Message{Kind: KindRegisterResponse, Code: 1}),
	row("login_response, ok", Message{Kind: KindLoginResponse}),
	row("login_response, no", Message{Kind: KindLoginResponse, Code: 2}),
	row("meta_action", Message{Kind: KindMetaAction}),
	row("chunk_update", Message{Kind: KindChunkUpdate}),
	row("chunks_update", Message{Kind: KindChunksUpdate}),
	row("entities_update", Message{Kind: KindEntitiesUpdate}),
	row("actions_done", Message{Kind: KindActionsDone}),
	row("entity_create", Message{Kind: KindEntityCreate}),
	row("entity_create, a temporary id", Message{Kind: KindEntityCreate, Entity: Entity{ID: FirstTemporary}}),
	row("entity_destroy", Message{Kind: KindEntityDestroy}),
	row("entity_id_change", Message{Kind: KindEntityIDChange, Old: FirstTemporary, New: 1}),
	row("entity_id_change, none", Message{Kind: KindEntityIDChange, Old: 1, New: 2}),
	row("chat_receive", Message{Kind: KindChatReceive}),
	row("a client's message", Message{Kind: KindVersion}),
	{"malformed", []byte{22}},
	{"the beginning of a message", []byte{4}},
}

var (
	serverColumns = []string{"opening", "lobby", "asked", "entering", "playing", "closing", "closed"}
	clientColumns = []string{"opening", "lobby", "asking", "playing", "closing", "closed"}
)

// endpointStage is one endpoint, of either side, in a state of the table, and what its peer has.
type endpointStage struct {
	t    testing.TB
	side Side
	rows []stageRow
	now  time.Time
	mux  *Mux
	conn *Conn
	e    *Endpoint

	buf    [4096]byte
	sent   []byte
	words  []byte
	stream *Stream
	m      Message
}

// stageConfig is filled once, as to fill it is most of the cost of a stage.
var stageConfig = *Config{Schema: testSchema}.fill()

// advance lets time pass. The game stays at its tick, and is punctual.
func (s *endpointStage) advance() {
	s.now = s.now.Add(250 * time.Millisecond)
	if s.mux != nil {
		s.mux.BeginTick(s.now, 1000)
	}
}

// Begin brings a new endpoint into a state.
func (s *endpointStage) Begin(state string) {
	s.stream, s.now, s.mux, s.conn = NewStream(testCodec, s.side), townEpoch, nil, nil
	at := netip.MustParseAddrPort("10.0.0.1:1")
	if s.side == FromServer {
		s.mux = NewMux(s.now, stageConfig, &Shared{})
		s.mux.BeginTick(s.now, 1000)
		s.conn = s.mux.Accept(s.now, at, s.now)
		s.e = s.conn.endpoint
	} else {
		s.e = NewClient(s.now, at, stageConfig, &Shared{})
	}
	s.poll()
	s.reach(state)
}

// reach goes on to a state.
func (s *endpointStage) reach(state string) {
	if state == "opening" {
		return
	}
	if s.conn != nil {
		s.deliver([]byte{18, 0, 9})
	} else {
		s.deliver([]byte{19, 0, 20, 0, 0})
	}
	s.poll()
	switch state {
	case "asked", "entering", "playing":
		if s.conn != nil {
			s.deliver(serverRows[7].bytes)
			s.poll()
		}
	}
	switch state {
	case "asking", "playing":
		if s.conn == nil {
			s.e.Login(s.now, "ann", "password")
			s.e.Register(s.now, "ann", "password")
			s.poll()
		}
	}
	switch {
	case s.conn != nil && (state == "entering" || state == "playing"):
		s.grant()
		if state == "playing" {
			s.enter()
		}
	case s.conn == nil && state == "playing":
		s.deliver(testCodec.AppendTo(nil, &Message{Kind: KindLoginResponse}))
		s.poll()
		s.deliver(testCodec.AppendTo(nil, &Message{Kind: KindRegisterResponse}))
		s.poll()
	case state == "closing", state == "closed":
		if s.conn != nil {
			s.conn.Close(ExitClientKicked, "")
		} else {
			s.e.Close(s.now, ExitClientKicked, "")
		}
		if state == "closed" {
			s.poll()
		}
	}
}

func (s *endpointStage) grant() {
	s.conn.AnswerLogin(s.conn.endpoint.server.asked.First().Question, LoginOK)
	s.poll()
}

func (s *endpointStage) enter() {
	if err := s.conn.Enter(Entry{Entity: Entity{ID: 1}}); err != nil {
		s.t.Fatal(err)
	}
	s.poll()
	s.settle()
}

// settle answers all questions with no.
func (s *endpointStage) settle() {
	for s.conn.endpoint.server.asked.Len() > 0 && s.conn.endpoint.state != StateEntering && s.conn.endpoint.state < StateClosing {
		q := s.conn.endpoint.server.asked.First()
		if q.kind == EventRegister {
			s.conn.AnswerRegister(q.Question, RegisterUsedPseudo)
		} else {
			s.conn.AnswerLogin(q.Question, LoginWrongPassword)
		}
		s.poll()
	}
}

func (s *endpointStage) deliver(b []byte) {
	if s.mux != nil {
		s.mux.HandleBytes(s.now, s.conn, b)
		return
	}
	s.e.HandleBytes(s.now, b)
}

func (s *endpointStage) State() string {
	switch {
	case s.conn != nil && s.e.state == StateLobby && s.e.server.asked.Len() > 0:
		return "asked"
	case s.conn == nil && s.e.state == StateLobby && s.e.client.asking > 0:
		return "asking"
	}
	return s.e.state.String()
}

// poll takes events and bytes. What they were is in words, and the reason of an end is
// returned.
func (s *endpointStage) poll() (reason string) {
	s.words, s.sent = s.words[:0], s.sent[:0]
	for range 2 {
		if s.mux != nil {
			for _, ev, ok := s.mux.PollEvent(); ok; _, ev, ok = s.mux.PollEvent() {
				reason = s.note(&ev, reason)
			}
			for _, n, ok := s.mux.PollBytes(s.buf[:]); ok; _, n, ok = s.mux.PollBytes(s.buf[:]) {
				s.sent = append(s.sent, s.buf[:n]...)
			}
			continue
		}
		for ev, ok := s.e.PollEvent(); ok; ev, ok = s.e.PollEvent() {
			reason = s.note(&ev, reason)
		}
		for n := s.e.PollBytes(s.buf[:]); n > 0; n = s.e.PollBytes(s.buf[:]) {
			s.sent = append(s.sent, s.buf[:n]...)
		}
	}
	for rest := s.sent; len(rest) > 0; {
		n, ok := s.stream.Next(rest, &s.m)
		if rest = rest[n:]; !ok {
			s.t.Fatalf("it sent %x: %v", s.sent, s.stream.Err())
		}
		s.say("sends ", s.m.Kind.String())
		if s.m.Kind == KindExit || s.m.Kind == KindLoginResponse {
			s.words = append(s.words, ' ', '0'+s.m.Code)
		}
	}
	return reason
}

// note notes what the endpoint tells.
func (s *endpointStage) note(ev *Event, reason string) string {
	if ev.Kind == EventClosed {
		return ev.Close.Reason.String()
	}
	s.say("told ", ev.Kind.String())
	return reason
}

func (s *endpointStage) say(verb, noun string) {
	if len(s.words) > 0 {
		s.words = append(s.words, ", "...)
	}
	s.words = append(append(s.words, verb...), noun...)
}

func (s *endpointStage) Give(m int) string {
	s.deliver(s.rows[m].bytes)
	reason := s.poll()
	text := append(s.sent[:0], s.State()...)
	if reason != "" {
		text = append(append(append(text, " ("...), reason...), ')')
	}
	if len(s.words) > 0 {
		text = append(append(text, ": "...), s.words...)
	}
	s.sent = text
	return string(text)
}

func role(side Side, heading string, rows []stageRow, states []string) kit.Role {
	r := kit.Role{Heading: heading, States: states, Stage: func(t testing.TB) kit.Stage { return &endpointStage{t: t, side: side, rows: rows} }}
	for _, row := range rows {
		r.Messages = append(r.Messages, row.name)
	}
	return r
}

var roles = []kit.Role{role(FromServer, "A server", serverRows, serverColumns), role(FromClient, "A client", clientRows, clientColumns)}

func TestStatesAndMessages(t *testing.T) { kit.States(t, "realm", statesPage, roles...) }

func TestRandomWalksThroughStates(t *testing.T) {
	t.Parallel()
	kit.Walks(t, "realm", statesPage, kit.Tier(5_000, 500_000, 5_000_000), roles...)
}

// Untold reports that a message is the beginning of one, which would make another of what follows.
func (s *endpointStage) Untold(m int, _ string) bool { return m == len(s.rows)-1 }

// Between lets time, accounts, the game and the program do what they may.
func (s *endpointStage) Between(r *rand.Rand) bool {
	if s.conn != nil && s.e.server.asked.Len() >= maxAsked-1 {
		s.settle()
	}
	if s.e.state == StateClosed || s.conn != nil && s.e.server.asked.Len() >= maxAsked-1 {
		return false // or one more question would end it
	}
	s.between(r)
	s.advance()
	return true
}

func (s *endpointStage) between(r *rand.Rand) {
	if s.conn != nil {
		switch {
		case s.e.state == StatePlaying:
			s.settle()
		case s.State() == "asked" && r.IntN(3) == 0 && s.e.server.asked.First().kind == EventLogin:
			s.grant()
		case s.State() == "asked" && r.IntN(3) == 0:
			s.settle()
		case s.State() == "entering" && r.IntN(3) == 0:
			s.enter()
		}
		return
	}
	switch state := s.State(); {
	case state == "lobby" && r.IntN(2) == 0:
		s.e.Login(s.now, "ann", "password")
		s.e.Register(s.now, "ann", "password")
		s.poll()
	case state == "playing":
		// The table's client has no question left.
		for c := s.e.client; c.registers > 0; {
			s.deliver(testCodec.AppendTo(nil, &Message{Kind: KindRegisterResponse}))
			s.poll()
		}
		for c := s.e.client; c.asking > 0; {
			s.deliver(testCodec.AppendTo(nil, &Message{Kind: KindLoginResponse, Code: 4}))
			s.poll()
		}
	case state == "asking":
		// And before, it has asked for both.
		c := s.e.client
		if c.registers == 0 {
			s.e.Register(s.now, "ann", "password")
		}
		if c.asking == c.registers {
			s.e.Login(s.now, "ann", "password")
		}
		s.poll()
	}
}

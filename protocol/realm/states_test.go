package realm

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const statesPage = "../../docs/protocols/realm.md"

// A row is a message of the table.
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

// endpointStage is one endpoint, of either side, in a state of the table.
type endpointStage struct {
	t    testing.TB
	now  time.Time
	mux  *Mux
	conn *Conn
	e    *Endpoint
	buf  [4096]byte
}

// stageConfig is filled once, as to fill it is most of the cost of a stage.
var stageConfig = *Config{Schema: testSchema}.fill()

func (s *endpointStage) advance() { s.now = s.now.Add(250 * time.Millisecond) }

// newStage brings an endpoint of a side into a state.
func newStage(t testing.TB, side Side, state string) *endpointStage {
	s := &endpointStage{t: t, now: townEpoch}
	c := stageConfig
	at := netip.MustParseAddrPort("10.0.0.1:1")
	if side == FromServer {
		s.mux = NewMux(s.now, c, &Shared{})
		s.mux.BeginTick(s.now, 1000)
		s.conn = s.mux.Accept(s.now, at, s.now)
		s.e = s.conn.Endpoint
	} else {
		s.e = NewClient(s.now, at, c, &Shared{})
	}
	s.poll()
	s.reach(state)
	return s
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
	s.conn.AnswerLogin(s.conn.server.asked.First().Question, LoginOK)
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
	for s.conn.server.asked.Len() > 0 && s.conn.state != StateEntering && s.conn.state < StateClosing {
		q := s.conn.server.asked.First()
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

func (s *endpointStage) state() string {
	switch {
	case s.conn != nil && s.e.state == StateLobby && s.e.server.asked.Len() > 0:
		return "asked"
	case s.conn == nil && s.e.state == StateLobby && s.e.client.asking > 0:
		return "asking"
	}
	return s.e.state.String()
}

// poll takes events and bytes, and says what they were.
func (s *endpointStage) poll() (words []string, reason string) {
	note := func(ev Event) {
		if ev.Kind == EventClosed {
			reason = ev.Close.Reason.String()
			return
		}
		words = append(words, "told "+ev.Kind.String())
	}
	var sent []byte
	for range 2 {
		if s.mux != nil {
			for _, ev, ok := s.mux.PollEvent(); ok; _, ev, ok = s.mux.PollEvent() {
				note(ev)
			}
			for _, n, ok := s.mux.PollBytes(s.buf[:]); ok; _, n, ok = s.mux.PollBytes(s.buf[:]) {
				sent = append(sent, s.buf[:n]...)
			}
			continue
		}
		for ev, ok := s.e.PollEvent(); ok; ev, ok = s.e.PollEvent() {
			note(ev)
		}
		for n := s.e.PollBytes(s.buf[:]); n > 0; n = s.e.PollBytes(s.buf[:]) {
			sent = append(sent, s.buf[:n]...)
		}
	}
	from := FromServer
	if s.mux == nil {
		from = FromClient
	}
	stream, m := NewStream(testCodec, from), Message{}
	for len(sent) > 0 {
		n, ok := stream.Next(sent, &m)
		if sent = sent[n:]; !ok {
			s.t.Fatalf("it sent %x: %v", sent, stream.Err())
		}
		word := "sends " + m.Kind.String()
		if m.Kind == KindExit || m.Kind == KindLoginResponse {
			word += fmt.Sprint(" ", m.Code)
		}
		words = append(words, word)
	}
	return words, reason
}

// outcome delivers a message and says what came of it, in the words of the table.
func (s *endpointStage) outcome(r stageRow) string {
	s.deliver(r.bytes)
	words, reason := s.poll()
	text := s.state()
	if reason != "" {
		text += " (" + reason + ")"
	}
	if len(words) > 0 {
		text += ": " + strings.Join(words, ", ")
	}
	return text
}

// roles are the two tables.
var roles = []struct {
	heading string
	side    Side
	rows    []stageRow
	columns []string
}{
	{"A server", FromServer, serverRows, serverColumns},
	{"A client", FromClient, clientRows, clientColumns},
}

// T26: every message in every state, both roles: the outcome is the page's. Then random walks.
func TestStatesAndMessages(t *testing.T) {
	t.Parallel()
	tables := readTables(t, statesPage)
	for _, role := range roles {
		want := map[[2]string]string{}
		rows := tables[role.heading]
		if len(rows) != len(role.rows) {
			t.Errorf("%s: %d rows, and there are %d messages", role.heading, len(rows), len(role.rows))
		}
		for i, r := range role.rows {
			for _, state := range role.columns {
				got := newStage(t, role.side, state).outcome(r)
				want[[2]string{r.name, state}] = got
				if i < len(rows) && (rows[i]["message"] != r.name || rows[i][state] != got) {
					t.Errorf("%s, %s, %s: got %q, and the page says %q", role.heading, state, r.name, got, rows[i][state])
				}
			}
		}
		if os.Getenv("REALM_PRINT_STATES") != "" {
			printStates(role.rows, role.columns, want)
		}
		if !t.Failed() {
			walkStates(t, role.side, role.rows, want)
		}
	}
}

// printStates prints a table for the page.
func printStates(rows []stageRow, columns []string, want map[[2]string]string) {
	fmt.Println("| message |", strings.Join(columns, " | "), "|")
	fmt.Println(strings.Repeat("| --- ", len(columns)+1) + "|")
	for _, r := range rows {
		line := "| " + r.name
		for _, state := range columns {
			line += " | " + want[[2]string{r.name, state}]
		}
		fmt.Println(line + " |")
	}
}

// walkStates gives random messages to endpoints, one after the other, and holds each outcome
// against the table.
func walkStates(t *testing.T, side Side, rows []stageRow, want map[[2]string]string) {
	r := newRand(t)
	seen := map[string]int{}
	for left := rounds(500_000, 5_000_000); left > 0; {
		s := newStage(t, side, "opening")
		var path []string
		for range 40 {
			s.advance()
			state := s.state()
			seen[state]++
			left--
			m := pickRow(r, rows)
			for tries := 0; tries < 20 && r.IntN(20) > 0 && strings.HasPrefix(want[[2]string{m.name, state}], "closed"); tries++ {
				m = pickRow(r, rows) // or hardly a walk would get far
			}
			if s.conn != nil && s.e.server.asked.Len() >= maxAsked-1 {
				s.settle()
				continue
			}
			path = append(path, m.name)
			got := s.outcome(m)
			if w := want[[2]string{m.name, state}]; got != w {
				t.Fatalf("%s: got %q, want %q\nafter %q", state, got, w, path)
			}
			if s.state() == "closed" {
				break
			}
			s.between(r)
		}
	}
	if len(seen) < 4 {
		t.Errorf("the walks saw only %v", slices.Sorted(maps.Keys(seen)))
	}
	t.Logf("steps of the walks by state: %v", seen)
}

// pickRow draws a message, but never the beginning of one, which would make another of what
// follows.
func pickRow(r *rand.Rand, rows []stageRow) stageRow { return rows[r.IntN(len(rows)-1)] }

// between lets accounts, the game and the program do what they may.
func (s *endpointStage) between(r *rand.Rand) {
	if s.conn != nil {
		switch {
		case s.e.state == StatePlaying:
			s.settle()
		case s.state() == "asked" && r.IntN(3) == 0 && s.e.server.asked.First().kind == EventLogin:
			s.grant()
		case s.state() == "asked" && r.IntN(3) == 0:
			s.settle()
		case s.state() == "entering" && r.IntN(3) == 0:
			s.enter()
		}
		return
	}
	switch state := s.state(); {
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

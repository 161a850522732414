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
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
)

// visitor is a guest whose main keeps what the server does not read.
type visitor struct {
	*guest
	unread []byte
	out    *Stream
	heard  []string // what the server said
}

func (r *room) visit(ip string) *visitor {
	v := &visitor{guest: r.open(ip), out: NewStream(r.mux.cfg.Schema, FromServer)}
	v.listen()
	return v
}

// say sends bytes, and gives the server what it reads.
func (v *visitor) say(b ...byte) {
	v.unread = append(v.unread, b...)
	v.goOn()
}

func (v *visitor) goOn() {
	n := v.r.mux.HandleBytes(v.r.now, v.Conn, v.unread)
	v.unread = v.unread[n:]
	v.listen()
}

// listen reads what the server has said.
func (v *visitor) listen() {
	n := v.e.PollBytes(v.r.buf[:])
	for b := v.r.buf[:n]; len(b) > 0; {
		var m Message
		k, ok := v.out.Next(b, &m)
		if b = b[k:]; !ok {
			v.r.t.Fatalf("%x is no message", b)
		}
		switch {
		case m.Kind == KindReply && m.Code == 67+ReplyOffset:
			v.heard = append(v.heard, fmt.Sprintf("%d:%x", m.Status, m.Data))
		case m.Kind == KindSignal && m.Code == CodeRefused:
			v.heard = append(v.heard, "REFUSED")
		}
	}
	v.e.Written(v.r.now)
	for _, _, ok := v.r.mux.PollTransmit(v.r.buf[:]); ok; _, _, ok = v.r.mux.PollTransmit(v.r.buf[:]) { // which sets its timer
	}
}

// answers are the verdicts, by name. 0 is none.
var answers = map[string]uint8{"good": 0, "denied": 3, "full": 6, "no such room": 8, "malformed": 14, "not looked at": NoReply}

// do is one step of a visitor, or of the program that judges it.
func (v *visitor) do(step string, s *Scene) {
	status, verdict := answers[step]
	switch {
	case verdict:
		v.r.mux.Advance(v.r.now)
		v.AnswerPass(status, 77, s)
		v.listen()
		v.goOn()
	case step == "init":
		v.say(CodeConnInit)
	case step == "ok":
		v.say(CodeConnOK)
	case step == "failed":
		v.say(CodeConnFailed)
	case step == "request":
		v.say(CodeSyncReq)
	case step == "pass":
		v.say(passOf("x")...)
	case step == "half a pass":
		v.say(passOf("x")[:2]...)
	case step == "huge":
		v.say(67, 0xff, 0xff)
	case step == "end":
		v.r.mux.HandleEnd(v.r.now, v.Conn, "")
	case step == "10 s":
		v.r.now = v.r.now.Add(10 * time.Second)
		v.r.mux.HandleTimeout(v.r.now)
		v.goOn()
	default:
		v.r.t.Fatalf("no step %q", step)
	}
}

// judgedRoom is a room whose program judges when the test says so. It holds the program to what it may count on.
func judgedRoom(t testing.TB) *room {
	schema := *gameSchema
	schema.Queries = map[uint8]Query{67: {Pass: true, Reply: Fixed(2), Data: Growing(func(b []byte) int {
		if len(b) < 2 {
			return 2
		}
		if n := int(binary.BigEndian.Uint16(b)); n <= 1024 {
			return 2 + n
		}
		return -1
	})}}
	return newRoom(t, Config{Schema: &schema, Resync: -1, Judge: func(c *Conn, _ []byte) {
		if n, _ := c.Owner.(int); n >= maxPasses || !c.Showed() || c.Joined() {
			t.Errorf("the program is asked about pass %d", n+1)
		} else {
			c.Owner = n + 1
		}
	}})
}

const good = "0:004d"

// T68: what a client that shows passes hears, and where it stands, in every state.
func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		says  string
		want  string
		state State
	}{
		{"init, ok", "", StateOpen},
		{"init, pass, good, ok", good, StateOpen},
		{"init, pass, good, failed", good, StateOpen},
		{"init, pass, ok, good", good, StateOpen},
		{"init, pass, failed, good", good, StateOpen},
		{"init, pass, ok, request, good", good, StateOpen},
		{"init, pass, failed, ok, good", good, StateOpen},
		{"init, pass", "", StateJoining},
		{"init, pass, ok", "", StateJoining},
		{"init, pass, ok, denied", "3:, REFUSED", StateClosed},
		{"init, pass, full, ok", "6:, REFUSED", StateClosed},
		{"init, pass, no such room", "8:", StateJoining},
		{"init, pass, malformed, pass, good, ok", "14:, " + good, StateOpen},
		{"init, pass, pass, denied, good, ok", "3:, " + good, StateOpen},
		{"init, pass, pass, good, denied, ok", good + ", 3:, REFUSED", StateClosed},
		{"init, pass, good, pass, ok, good", good + ", " + good, StateOpen},
		{"init, pass, denied, pass, denied, pass, denied", "3:, 3:, 3:", StateClosed},
		{"init, pass, denied, pass, not looked at, pass, denied", "3:, 3:", StateClosed},
		{"init, pass, not looked at", "", StateJoining},
		{"init, pass, not looked at, ok", "REFUSED", StateClosed},
		{"init, pass, not looked at, pass, good, ok", good, StateOpen},
		{"init, good, denied, ok", "", StateOpen}, // of nothing
		{"init, pass, good, good, denied, ok", good, StateOpen},
		{"init, pass, 10 s", "", StateClosed},
		{"init, pass, ok, 10 s, good", "", StateClosed},
		{"init, pass, end, good", "", StateClosed},
		{"init, pass, init, good", good, StateClosed},
		{"init, pass, request, good", good, StateClosed},
		{"init, huge", "", StateClosed},
		{"init, pass, huge, good", good, StateClosed},
		{"init, half a pass, 10 s", "", StateClosed},
		{"pass", "", StateClosed},
		{"good", "", StateConnecting},
		{"init, ok, pass", "", StateOpen}, // the program is told of a query
		{"init, ok, good", "", StateOpen},
	} {
		t.Run(tt.says, func(t *testing.T) {
			r := judgedRoom(t)
			s := r.mux.NewScene()
			v := r.visit("10.0.0.2")
			for step := range strings.SplitSeq(tt.says, ", ") {
				v.do(step, s)
			}
			if got := strings.Join(v.heard, ", "); got != tt.want || v.e.State() != tt.state {
				t.Fatalf("it hears %q and is %v, want %q and %v", got, v.e.State(), tt.want, tt.state)
			}
			passed := strings.Contains(tt.says, "good") && v.Showed() && tt.state == StateOpen && !strings.Contains(tt.says, "ok, pass")
			if passed && (v.scene != s || v.Player() != 77 || v.FeedID() != 1) {
				t.Errorf("it has SID %d and feed %d", v.Player(), v.FeedID())
			}
			if !passed && tt.state == StateOpen && (v.scene != &r.mux.Scene || v.Player() != 1) {
				t.Errorf("it has SID %d", v.Player())
			}
		})
	}
}

// passModel is what the page says of passes.
type passModel struct {
	state          string // connecting, joining, open, over
	judging        bool
	passed         bool
	shown, refused int
	asked          int // queries that the program was told of
	waits          []string
	heard          []string
}

func (m *passModel) do(step string) {
	status, verdict := answers[step]
	switch {
	case m.state == "over":
	case verdict && m.judging:
		m.verdict(status)
	case verdict:
	case step == "end":
		m.state = "over"
	case step == "10 s":
		if m.state != "open" {
			m.state = "over"
		}
	case m.judging:
		m.waits = append(m.waits, step)
	default:
		m.hear(step)
	}
}

func (m *passModel) verdict(status uint8) {
	m.judging = false
	if m.passed = status == 0; m.passed {
		m.heard = append(m.heard, good)
	} else {
		if m.refused++; status != NoReply {
			m.heard = append(m.heard, fmt.Sprintf("%d:", status))
		}
		if m.refused == 3 {
			m.state = "over"
		}
	}
	for len(m.waits) > 0 && !m.judging && m.state != "over" {
		step := m.waits[0]
		m.waits = m.waits[1:]
		m.hear(step)
	}
}

// hear is what the server reads.
func (m *passModel) hear(step string) {
	switch m.state + " " + step {
	case "connecting init":
		m.state = "joining"
	case "joining pass":
		if m.shown++; m.shown > 8 {
			m.state = "over"
			return
		}
		m.judging, m.passed = true, false
	case "joining ok", "joining failed":
		if m.state = "open"; m.refused > 0 && !m.passed {
			m.state = "over"
			m.heard = append(m.heard, "REFUSED")
		}
	case "open ok", "open failed", "open request":
	case "open pass":
		m.asked++
	default:
		m.state = "over"
	}
}

// T68: random sequences of all that may happen while a client joins, against a model.
func TestPassesAgainstAModel(t *testing.T) {
	rng := kit.Rand(t)
	steps := []string{"init", "ok", "failed", "request", "pass", "pass", "pass", "huge", "end", "10 s", "good", "good", "denied", "full", "no such room", "malformed", "not looked at"}
	r := judgedRoom(t)
	s := r.mux.NewScene()
	ends := map[string]int{}
	for range promise.Keeps(t, "T68", "duplex", kit.Tier(20_000, 100_000, 1_000_000)) {
		r.next %= 20_000
		v, m := r.visit("10.0.0.2"), passModel{state: "connecting"}
		did := []string{}
		for len(did) < 14 {
			step := pick(rng, steps, len(did))
			did = append(did, step)
			v.do(step, s)
			m.do(step)
			state := v.e.State().String()
			if v.e.State() >= StateClosing {
				state = "over"
			}
			if state != m.state || !slices.Equal(v.heard, m.heard) || v.e.State() < StateClosing && v.judged() != m.judging || v.e.owed.lastID != uint32(m.asked) {
				t.Fatalf("after %q it is %s and hears %q, want %s and %q", did, state, v.heard, m.state, m.heard)
			}
		}
		ends[m.state]++
		r.mux.HandleEnd(r.now, v.Conn, "")
		r.drain()
		r.ended = r.ended[:0]
	}
	if r.mux.Len() != 0 || len(s.conns) != 0 || len(r.mux.Scene.conns) != 0 || r.mux.porch.Len() != 0 || len(r.mux.ids) != 0 {
		t.Error("somebody is left")
	}
	t.Logf("%v", ends)
}

// pick is a step that often goes on: random ones end most sequences at once.
func pick(rng *rand.Rand, steps []string, n int) string {
	if n == 0 && rng.IntN(20) > 0 {
		return "init"
	}
	step := steps[rng.IntN(len(steps))]
	for (step == "10 s" || step == "end" || step == "huge" || step == "init") && rng.IntN(8) > 0 {
		step = steps[rng.IntN(len(steps))]
	}
	return step
}

// Who floods while its pass is judged has nothing read, and costs nothing; when it is let in, all of it is read in its order.
func TestAFloodBehindAPassWaits(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    []byte
		open bool
		asks int
	}{
		{"CONN_OK", []byte{CodeConnOK}, true, 1},
		{"CONN_OK and CONN_FAILED", []byte{CodeConnOK, CodeConnFailed}, true, 1},
		{"passes", passOf("x"), false, maxPasses},
		{"empty passes", passOf(""), false, maxPasses},
		{"noise", noise[:100], false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := judgedRoom(t)
			v := r.visit("10.0.0.2")
			v.say(CodeConnInit)
			v.say(passOf("x")...)
			flood := slices.Repeat(tt.b, 1<<16/len(tt.b))
			before := shelltest.LiveHeap()
			in := v.Stats().MainInBytes
			for range 1000 {
				if n := r.mux.HandleBytes(r.now, v.Conn, flood); n != 0 {
					t.Fatalf("%d bytes are read", n)
				}
				r.drain()
			}
			if grown := shelltest.LiveHeap() - before; grown > 32<<10 && !shelltest.Race || v.Stats().MainInBytes != in {
				t.Errorf("64 MiB that were not read hold %d B", grown)
			}
			v.unread = flood
			for range 20 {
				if v.e.State() == StateJoining {
					v.AnswerPass(0, 0, nil)
				}
				v.goOn()
				r.drain()
			}
			if open := v.e.State() == StateOpen; open != tt.open || len(v.unread) > 0 || v.Owner != tt.asks {
				t.Errorf("it is %v; %d bytes are unread, and the program was asked about %v", v.e.State(), len(v.unread), v.Owner)
			}
		})
	}
}

// The id of the feed and the SID are two things: players of two scenes have one SID, the feed is found by its id, and what
// answers a player is the element of its SID. An id that nobody was shown is free again at once.
func TestTheSIDIsNotTheFeedsID(t *testing.T) {
	freed := map[int16]bool{}
	last := int16(100)
	r := newRoom(t, Config{
		Resync: -1, Judge: func(*Conn, []byte) {},
		TakeID: func() int16 { last++; return last },
		FreeID: func(id int16, seen bool) { freed[id] = seen },
	})
	var all []*guest
	for i := range 4 {
		s := r.mux.NewScene()
		if err := s.Set(9, valueOf(uint64(i))); err != nil {
			t.Fatal(err)
		}
		g := r.open("10.0.0.2")
		g.say(CodeConnInit)
		g.init(g.feed, g.e.token)
		if i < 3 {
			g.say(passOf("x")...)
			g.AnswerPass(0, []int16{9, 9, 0}[i], s)
		}
		g.say(CodeConnOK)
		r.drain()
		all = append(all, g)
		if want := []int16{9, 9, 103, 104}[i]; g.Player() != want || g.FeedID() != int16(101+i) || !g.FeedUp() || r.mux.ByID(g.FeedID()) != g.Conn || g.Showed() != (i < 3) {
			t.Errorf("client %d has SID %d and feed %d", i, g.Player(), g.FeedID())
		}
	}
	for i, g := range all[:2] {
		g.scene.Flush()
		r.drain()
		g.Answer()
		if err := g.scene.Set(9, valueOf(50)); err != nil {
			t.Fatal(err)
		}
		g.scene.Flush()
		first := r.drain()
		r.at(againAfter)
		if again := g.e.feed.sent; first[g.feed] == 0 || again != 4 || len(first) != 1 { // FEED_INIT_REP, the first value, and this one twice
			t.Errorf("client %d: %v, %d datagrams", i, first, again)
		}
	}
	for _, g := range all {
		r.mux.HandleEnd(r.now, g.Conn, "")
	}
	r.drain()
	if want := map[int16]bool{101: false, 102: false, 103: true, 104: true}; fmt.Sprint(freed) != fmt.Sprint(want) {
		t.Errorf("freed %v, want %v", freed, want)
	}
}

// How a main ended: with the client's goodbye, or without.
func TestGoodbyes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		end     func(r *room, g *guest)
		goodbye bool
	}{
		{"it closes main", func(r *room, g *guest) { r.mux.HandleEnd(r.now, g.Conn, "") }, true},
		{"after a message", func(r *room, g *guest) { g.say(14); r.mux.HandleEnd(r.now, g.Conn, "") }, true},
		{"inside a message", func(r *room, g *guest) { g.say(CodeSync, 0); r.mux.HandleEnd(r.now, g.Conn, "") }, false},
		{"main is reset", func(r *room, g *guest) { r.mux.HandleEnd(r.now, g.Conn, "connection reset by peer") }, false},
		{"we close", func(r *room, g *guest) { g.Close("kicked") }, false},
		{"we close first", func(r *room, g *guest) { _ = g.Signal(Main, 14); g.Close("kicked"); r.mux.HandleEnd(r.now, g.Conn, "") }, false},
		{"we refuse", func(r *room, g *guest) { g.Refuse("full") }, false},
		{"it breaks a rule", func(r *room, g *guest) { g.say(0); r.mux.HandleEnd(r.now, g.Conn, "") }, false},
		{"it reads nothing", func(r *room, g *guest) {
			for line := append([]byte{0xf0, 0}, noise[:0xf000]...); g.Sync(-1, line) == nil; {
			}
			r.mux.HandleEnd(r.now, g.Conn, "")
		}, false},
		{"we shut down", func(r *room, g *guest) { r.mux.Shutdown(r.now, "bye") }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t, Config{})
			g := r.join("10.0.0.2")
			tt.end(r, g)
			var last Event
			for range 2 {
				for _, ev, ok := r.mux.PollEvent(); ok; _, ev, ok = r.mux.PollEvent() {
					last = ev
				}
				for _, c, ok := r.mux.PollBytes(r.buf[:]); ok; _, c, ok = r.mux.PollBytes(r.buf[:]) {
					r.mux.Written(r.now, c)
				}
			}
			if last.Kind != EventClosed || last.Goodbye != tt.goodbye {
				t.Errorf("%v, goodbye %t, want %t: %v", last.Kind, last.Goodbye, tt.goodbye, last.Close)
			}
		})
	}
}

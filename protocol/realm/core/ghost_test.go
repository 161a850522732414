package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
)

// newHaunted returns a town in which an account has one session.
func newHaunted(t testing.TB) *town {
	w := newTown(t, kit.Rand(t), Config{})
	w.sessions = map[string]*Conn{}
	w.mux.SetHooks(Hooks{Key: strings.ToLower, Refused: w.logout})
	return w
}

// logIn connects a client that logs in, and does not wait for the answer.
func (w *town) logIn(name, password string) *person {
	w.t.Helper()
	p := w.arrive(Config{})
	w.drive()
	if err := p.client.Login(w.now, name, password); err != nil {
		w.t.Fatal(err)
	}
	w.drive()
	return p
}

// vanish is a network that drops: nothing of a client arrives any more, and nothing tells the server.
func (p *person) vanish() { p.ended, p.deaf = true, true }

// answered returns how a client's log-ins were answered.
func (p *person) answered() (codes []LoginCode) {
	for _, ev := range p.events {
		if ev.Kind == EventLoggedIn {
			codes = append(codes, LoginCode(ev.Message.Code))
		}
	}
	return codes
}

func (p *person) wantAnswers(what string, want ...LoginCode) {
	p.town.t.Helper()
	if got := p.answered(); !slices.Equal(got, want) {
		p.town.t.Errorf("%s: answered %v, want %v", what, got, want)
	}
}

// A player whose network dropped logs in again: the old connection has 2 s to answer, and then the new one takes its place.
func TestAGhostGivesWay(t *testing.T) {
	w := newHaunted(t)
	old := w.join("ann")
	bob := w.join("bob")
	old.vanish()
	w.advance(time.Second)
	bob.events = nil
	again := w.logIn("ANN", "password of ann") // the same account, in other letters
	w.advance(2*time.Second - 1)
	again.wantAnswers("just before 2 s")
	if old.closed != 0 {
		t.Fatal("the old connection was closed before its time")
	}
	w.advance(1)
	again.wantAnswers("after 2 s", LoginOK)
	if !again.conn.Playing() || old.closed != 1 || w.sessions["ann"] != again.conn || w.mux.Players() != 2 || w.mux.Holder("ann") != again.conn {
		t.Errorf("in: %t, %d ends, %d players", again.conn.Playing(), old.closed, w.mux.Players())
	}
	if c := w.game.ended[0]; c.Reason != ReasonReplaced || c.Exit != ExitPingTimeout || c.Remote || w.game.goodbyes[0] {
		t.Errorf("it ended by %+v", c)
	}
	// Others see one leave and one join, in that order.
	if got := bob.heard(); len(got) != 2 || !strings.HasPrefix(got[0], "player_left 1 ") || !strings.HasPrefix(got[1], "player_joined 3 ") {
		t.Errorf("bob was told %q", got)
	}
	if st := w.mux.Stats(); st.Probed != 1 || st.Replaced != 1 {
		t.Errorf("%+v", st)
	}
	w.checkFrames()
}

// It makes no difference to the 2 s whether the old connection's socket takes bytes, and how many wait for it.
func TestAGhostThatReadsNothingGivesWay(t *testing.T) {
	for _, bytes := range []int{0, 1000, 100 << 10, 400 << 10} {
		w := newHaunted(t)
		old := w.join("ann")
		old.vanish()
		w.mux.Block(old.conn)
		for range bytes / 100 {
			w.mux.Say(1, make([]byte, 100))
		}
		again := w.logIn("ann", "password of ann")
		w.advance(2*time.Second - 1)
		again.wantAnswers("just before 2 s")
		w.advance(1)
		again.wantAnswers(fmt.Sprint("after 2 s, with ", bytes, " bytes"), LoginOK)
	}
}

// A player who is there keeps its place: the other is told that the account is in, once the player has answered.
func TestALivingPlayerKeepsItsPlace(t *testing.T) {
	w := newHaunted(t)
	old := w.join("ann")
	again := w.logIn("ann", "password of ann")
	again.wantAnswers("at once", LoginAlreadyConnected)
	if old.closed != 0 || again.closed != 0 || w.sessions["ann"] != old.conn {
		t.Error("somebody lost its place")
	}
	w.advance(20 * time.Second)
	if !old.conn.Playing() {
		t.Error("the player is gone")
	}
	// A pong that comes in the last moment counts.
	old.ended = true // its pong is held up
	third := w.logIn("ann", "password of ann")
	w.advance(2*time.Second - 1)
	third.wantAnswers("before the pong")
	old.ended = false
	w.drive()
	third.wantAnswers("after the pong", LoginAlreadyConnected)
	w.advance(20 * time.Second)
	if !old.conn.Playing() || w.mux.Stats().Replaced != 0 {
		t.Error("the player is gone")
	}
}

// Messages of the old connection are no answer, and neither is a ping of its own: only a pong shows that it has read.
func TestOnlyAPongAnswersAProbe(t *testing.T) {
	w := newHaunted(t)
	old := w.join("ann")
	old.deaf = true
	again := w.logIn("ann", "password of ann")
	for range 19 {
		w.advance(100 * time.Millisecond)
		w.mux.HandleBytes(w.now, old.conn, testCodec.AppendTo(nil, &Message{Kind: KindPing}))
		w.drive()
	}
	again.wantAnswers("before 2 s")
	w.advance(100 * time.Millisecond)
	again.wantAnswers("after 2 s", LoginOK)
}

// A wrong password, an unknown name and an account that is not in cause no probe, and are answered at once.
func TestOnlyTheRightPasswordProbes(t *testing.T) {
	w := newHaunted(t)
	old := w.join("ann")
	old.vanish()
	for range 100 {
		p := w.logIn("ann", "wrong password")
		p.wantAnswers("a wrong password", LoginWrongPassword)
		p.client.Close(w.now, ExitClientQuit, "")
		w.drive()
	}
	w.logIn("ann-marie", "password of ann").wantAnswers("an unknown name", LoginUnknownPseudo)
	w.logIn("bob", "password of bob").wantAnswers("another account", LoginOK)
	// config, login_response, entity_create, and that ann and bob have joined.
	if st := w.mux.Stats(); st.Probed != 0 || old.conn.Stats().Out != 5 {
		t.Errorf("%+v, %d messages to the player", st, old.conn.Stats().Out)
	}
}

// Whoever knows the password and logs in again and again has the player pinged once a second, and never disturbs it
// otherwise.
func TestRepeatedLogInsDoNotDisturb(t *testing.T) {
	w := newHaunted(t)
	old := w.join("ann")
	before := old.conn.Stats()
	const seconds, each = 30, 50
	for range seconds * each {
		p := w.logIn("ann", "password of ann")
		p.wantAnswers("a log-in", LoginAlreadyConnected)
		p.vanish()
		w.mux.HandleEnd(w.now, p.conn, nil)
		w.advance(time.Second / each)
		w.people = slices.DeleteFunc(w.people, func(p *person) bool { return p != old && p.closed > 0 })
	}
	after := old.conn.Stats()
	if pings := after.Out - before.Out; pings > seconds+1 || !old.conn.Playing() {
		t.Errorf("%d messages to the player in %d s", pings, seconds)
	}
	if st := w.mux.Stats(); st.Probed > seconds+1 || st.Probed < seconds-1 || st.Replaced != 0 {
		t.Errorf("%+v", st)
	}
}

// One log-in waits for a probe, the newest, and one probe is under way: the others are told that the account is in.
func TestTheNewestLogInWaits(t *testing.T) {
	w := newHaunted(t)
	old := w.join("ann")
	old.vanish()
	var tries []*person
	for range 10 {
		tries = append(tries, w.logIn("ann", "password of ann"))
		w.advance(150 * time.Millisecond)
	}
	w.advance(500*time.Millisecond - 1)
	last := tries[len(tries)-1]
	last.wantAnswers("just before 2 s")
	w.advance(1)
	last.wantAnswers("2 s after the first", LoginOK)
	for _, p := range tries[:len(tries)-1] {
		p.wantAnswers("one before", LoginAlreadyConnected)
	}
	if st := w.mux.Stats(); st.Probed != 1 || st.Replaced != 1 || w.mux.Players() != 1 {
		t.Errorf("%+v", st)
	}
}

// If nobody waits any more, a connection that did not answer is left to its own time-out.
func TestAProbeThatNobodyWaitsFor(t *testing.T) {
	w := newHaunted(t)
	old := w.join("ann")
	old.vanish()
	p := w.logIn("ann", "password of ann")
	p.client.Close(w.now, ExitClientQuit, "")
	w.advance(3 * time.Second)
	if old.closed != 0 || w.mux.Stats().Replaced != 0 {
		t.Fatal("it was closed for nobody")
	}
	// The next has 2 s of its own.
	again := w.logIn("ann", "password of ann")
	w.advance(2*time.Second - 1)
	again.wantAnswers("just before 2 s")
	w.advance(1)
	again.wantAnswers("after 2 s", LoginOK)
}

// Whatever ends the old connection while a log-in waits for it lets that in, by a new question with the same password.
func TestTheOldConnectionEndsByItself(t *testing.T) {
	for name, end := range map[string]func(w *town, old *person){
		"its stream ends":      func(w *town, old *person) { w.mux.HandleEnd(w.now, old.conn, nil) },
		"it is kicked":         func(w *town, old *person) { old.conn.Close(ExitClientKicked, "") },
		"it is cut":            func(w *town, old *person) { old.conn.Cut("") },
		"it was closing":       func(w *town, old *person) { w.advance(time.Second) },
		"it says goodbye":      func(w *town, old *person) { w.mux.HandleBytes(w.now, old.conn, []byte{2, 0}) },
		"it breaks a rule":     func(w *town, old *person) { w.mux.HandleBytes(w.now, old.conn, []byte{99}) },
		"its password changed": func(w *town, old *person) { w.accounts["ann"] = "another"; old.conn.Cut("") },
		"the account is in":    func(w *town, old *person) { w.hold = true; old.conn.Cut("") },
	} {
		w := newHaunted(t)
		old := w.join("ann")
		old.vanish()
		if name == "it was closing" {
			w.mux.Block(old.conn)
			old.conn.Close(ExitClientKicked, "")
		}
		again := w.logIn("ann", "password of ann")
		again.wantAnswers(name + ", before")
		end(w, old)
		w.drive()
		switch name {
		case "its password changed":
			again.wantAnswers(name, LoginWrongPassword)
		case "the account is in":
			// Another was faster: it answers the probe that follows, and stays.
			w.hold = false
			fast := w.join("ann")
			w.release()
			w.drive()
			again.wantAnswers(name+" again", LoginAlreadyConnected)
			if !fast.conn.Playing() || w.sessions["ann"] != fast.conn {
				t.Error("the faster one lost its place")
			}
		default:
			again.wantAnswers(name, LoginOK)
		}
		w.checkFrames()
	}
}

// A log-in that was accepted and is refused by the game gives its session up, and whoever waits for that is asked again.
func TestARefusedEntryGivesItsSessionUp(t *testing.T) {
	w := newHaunted(t)
	room := w.mux.NewGroup(GroupConfig{})
	var undecided []*Conn
	w.game.place = func(*Conn, Question) *Group { return room }
	w.game.wait = func(c *Conn, q Question) bool {
		if q.Room == "slow" {
			undecided = append(undecided, c)
		}
		return q.Room == "slow"
	}
	old := w.logIn("ann@slow", "password of ann")
	old.wantAnswers("not decided yet")
	old.vanish()
	again := w.logIn("ann@room", "password of ann")
	again.wantAnswers("it waits")
	undecided[0].Refuse(LoginUnknownPseudo)
	w.drive()
	again.wantAnswers("after the refusal", LoginOK)
	if room.Players() != 1 || w.mux.Holder("ann") != again.conn || w.mux.Stats().Replaced != 0 {
		t.Errorf("%d players", room.Players())
	}
}

// Operations at random: an account is never in twice, each log-in is answered once, and no session is left behind.
func TestGhostsAtRandom(t *testing.T) {
	rng := kit.Rand(t)
	w := newHaunted(t)
	names := []string{"ann", "bob", "cyd"}
	logIns := 0
	for range max(1000, kit.Tier(2000, 20_000, 500_000)) {
		var p *person
		if len(w.people) > 0 {
			p = w.people[rng.IntN(len(w.people))]
		}
		switch op := rng.IntN(6); {
		case op <= 1 && len(w.people) < 12:
			name := names[rng.IntN(len(names))]
			password := "password of " + name
			if rng.IntN(4) == 0 {
				password = "wrong"
			}
			w.logIn(name, password)
			logIns++
		case op == 2 && p != nil:
			p.vanish()
		case op == 3 && p != nil:
			p.client.Close(w.now, ExitClientQuit, "")
		case op == 4 && p != nil && !p.ended:
			p.ended = true
			w.mux.HandleEnd(w.now, p.conn, nil)
		default:
			w.advance(time.Duration(rng.IntN(1500)) * time.Millisecond)
		}
		w.drive()
		in := map[string]int{}
		for c := range w.mux.Conns() {
			if c.endpoint.state == StatePlaying {
				in[c.Account()]++
				if w.sessions[c.Account()] != c || w.mux.Holder(c.Account()) != c {
					t.Fatalf("%s plays without a session", c.Account())
				}
			}
		}
		for name, n := range in {
			if n > 1 {
				t.Fatalf("%s is in %d times", name, n)
			}
		}
		if len(w.mux.holders) != len(w.sessions) {
			t.Fatalf("%d sessions, the Mux knows of %d", len(w.sessions), len(w.mux.holders))
		}
		w.people = slices.DeleteFunc(w.people, func(p *person) bool { return p.closed > 0 })
	}
	st := w.mux.Stats()
	t.Logf("%d log-ins, %+v", logIns, st)
	if st.Probed == 0 || st.Replaced == 0 || st.Probed == st.Replaced {
		t.Error("there were no ghosts, or only ghosts")
	}
	w.advance(2 * time.Minute)
	for _, p := range w.people {
		p.vanish()
	}
	w.advance(2 * time.Minute)
	if len(w.sessions) != 0 || len(w.mux.holders) != 0 || w.mux.Len() != 0 {
		t.Errorf("%d sessions and %d connections are left", len(w.sessions), w.mux.Len())
	}
}

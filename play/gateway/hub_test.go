package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"parley/internal/promise"
	"parley/world"
)

func TestAnInboxIsBoundedForEachSeat(t *testing.T) {
	h, d := newDesk(t, Config{})
	loud, quiet := d.sit("loud"), d.sit("quiet")
	ticks(t, h, 1)
	for i := range 3 * maxRequests {
		if got := d.inbox.put(request{seat: loud, ask: askCorrect}); got != (i < maxRequests) {
			t.Fatalf("request %d is taken: %v", i, got)
		}
	}
	if !d.inbox.put(request{seat: quiet, ask: askCorrect}) {
		t.Error("another's flood keeps a seat out")
	}
	if !d.inbox.put(request{seat: loud, ask: askLeave}) {
		t.Error("who has asked for much cannot leave")
	}
	ticks(t, h, 1)
	h.look()
	if got := h.Stats(); got.DroppedInput != 2*maxRequests || got.Players != 1 || got.Requests != 2+maxRequests+2 {
		t.Errorf("the counters are %+v", got)
	}
	if !d.inbox.put(request{seat: quiet, ask: askCorrect}) || quiet.waiting != 1 {
		t.Error("a tick does not empty the inbox")
	}
}

func TestWhatMayBeSaid(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       world.Reason
	}{
		{"a word", "hello", world.Accepted},
		{"a byte", "x", world.Accepted},
		{"512 bytes", strings.Repeat("x", 512), world.Accepted},
		{"letters of all kinds", "grüß dich, 世界", world.Accepted},
		{"nothing", "", world.Malformed},
		{"513 bytes", strings.Repeat("x", 513), world.Malformed},
		{"bytes that are no text", "\xff\xfe", world.Malformed},
		{"half a letter", "gr\xc3", world.Malformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, d := newDesk(t, Config{})
			s := d.sit("ann")
			ticks(t, h, 1)
			d.inbox.put(request{seat: s, ask: askSay, line: []byte(tt.text), tag: 9})
			ticks(t, h, 1)
			if want := []result{{9, tt.want}}; !slices.Equal(d.refused, want) {
				t.Errorf("the answer is %v, want %v", d.refused, want)
			}
			want := []string{"ann: " + tt.text}
			if tt.want != world.Accepted {
				want = nil
			}
			if !slices.Equal(d.heard, want) {
				t.Errorf("heard is %q", d.heard)
			}
		})
	}
}

// "At most 5 a second", however they are spread over the ticks.
func TestFiveLinesASecond(t *testing.T) {
	h, d := newDesk(t, Config{TickRate: 20})
	s, other := d.sit("ann"), d.sit("bob")
	ticks(t, h, 1)
	for second := range 4 {
		d.heard = nil
		for range 20 {
			for range 3 {
				d.inbox.put(request{seat: s, ask: askSay, line: []byte("spam")})
			}
			ticks(t, h, 1)
		}
		d.inbox.put(request{seat: other, ask: askSay, line: []byte("hello")})
		most := chatRate
		if second == 0 {
			most = 2 * chatRate // a second's allowance was saved up
		}
		spam := 0
		for _, line := range d.heard {
			if line == "ann: spam" {
				spam++
			}
		}
		if spam > most || spam < chatRate-1 {
			t.Errorf("second %d has %d lines", second, spam)
		}
	}
	ticks(t, h, 1)
	if !slices.Contains(d.heard, "bob: hello") {
		t.Error("one who is loud keeps another from speaking")
	}
	h.look()
	if got := h.Stats(); got.Chat+got.DroppedChat != 4*20*3+4 || got.DroppedChat == 0 {
		t.Errorf("the counters are %+v", got)
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("ä", 40)
	for _, tt := range []struct {
		name string
		asks []string
		want []string
	}{
		{"those that are free are kept", []string{"ann", "Bob", "c d"}, []string{"ann", "Bob", "c d"}},
		{"one that somebody has gets a number", []string{"ann", "ann", "ann"}, []string{"ann", "ann#2", "ann#3"}},
		{"a number that is taken is passed over", []string{"ann#2", "ann", "ann"}, []string{"ann#2", "ann", "ann#3"}},
		{"case does not make it another name", []string{"ann", "ANN", "Ａｎｎ"}, []string{"ann", "ANN#2", "Ａｎｎ#3"}},
		{"nobody is called as the server is", []string{"server", "SERVER", "ｓerver", "sеrver"}, []string{"guest-1", "guest-2", "guest-3", "guest-4"}},
		{"space around them is cut", []string{"  ann "}, []string{"ann"}},
		{"no name is a guest's", []string{"", "  "}, []string{"guest-1", "guest-2"}},
		{"what is no text is no name", []string{"\xff"}, []string{"guest-1"}},
		{"long ones are cut between letters", []string{long}, []string{long[:maxName]}},
		{"a guest's name is nobody else's", []string{"guest-2", ""}, []string{"guest-1", "guest-2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, d := newDesk(t, Config{})
			for _, name := range tt.asks {
				d.sit(name)
			}
			ticks(t, h, 1)
			var got []string
			for _, p := range h.main.Players() {
				got = append(got, p.Name)
				if !utf8.ValidString(p.Name) {
					t.Errorf("%q is no text", p.Name)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("they are called %q, want %q", got, tt.want)
			}
		})
	}
}

func TestANameIsFreeAgainWhenItsPlayerLeft(t *testing.T) {
	h, d := newDesk(t, Config{})
	a := d.sit("ann")
	ticks(t, h, 1)
	for range 2 { // a second leave is none
		d.inbox.put(request{seat: a, ask: askLeave})
	}
	b := d.sit("ann")
	ticks(t, h, 1)
	if b.player.Name != "ann" || len(h.main.players) != 1 || len(h.main.names) != 1 {
		t.Errorf("the second is %q; %d players, %d names", b.player.Name, len(h.main.players), len(h.main.names))
	}
}

func TestKickAndBroadcast(t *testing.T) {
	h, d := newDesk(t, Config{})
	a, b := d.sit("ann"), d.sit("bob")
	ticks(t, h, 1)
	if h.main.Kick(99, "x") || !h.main.Kick(a.player.ID, "") {
		t.Fatal("the wrong one was kicked")
	}
	if fmt.Sprint(a.kicked) != "kicked" {
		t.Errorf("without a reason it is told %q", a.kicked)
	}
	for text, want := range map[string]string{
		"the end": "<nil>", "": "the text is empty", strings.Repeat("x", 513): "a text of 513 bytes: the limit is 512; split it", "\xff": "the text is not UTF-8",
	} {
		if err := h.main.Broadcast(text); fmt.Sprint(err) != want {
			t.Errorf("a text of %d bytes: %v, want %q", len(text), err, want)
		}
	}
	ticks(t, h, 2)
	if !a.left || b.left || len(h.main.players) != 1 || !slices.Equal(d.heard, []string{"server: the end"}) {
		t.Errorf("left %v and %v, %d players, heard %q", a.left, b.left, len(h.main.players), d.heard)
	}
	if h.main.Kick(a.player.ID, "again") {
		t.Error("who is gone was kicked")
	}
}

func TestAFullGameTellsWhoComes(t *testing.T) {
	h, d := newDesk(t, Config{MaxPlayers: 2})
	a, b := d.sit("ann"), d.sit("bob")
	ticks(t, h, 1)
	c := d.sit("cyd")
	watcher := d.chair()
	watcher.spectator = true
	d.inbox.put(request{seat: watcher, ask: askEnter})
	ticks(t, h, 1)
	if c.player != nil || c.kicked != RefusedFull || watcher.kicked != nil || watcher.view == nil {
		t.Errorf("the third is %v, told %q; a spectator is told %q", c.player, c.kicked, watcher.kicked)
	}
	d.inbox.put(request{seat: c, ask: askSay, line: []byte("let me in")}) // it has no voice
	ticks(t, h, 1)
	if !c.left || len(d.heard) != 0 || a.player == nil || b.player == nil {
		t.Errorf("the third left: %v; heard %q", c.left, d.heard)
	}
	d.inbox.put(request{seat: a, ask: askLeave})
	ticks(t, h, 1)
	e := d.sit("eve")
	ticks(t, h, 1)
	if e.player == nil {
		t.Error("there is no room for the next")
	}
}

// What a connection asks before it is a player, or after, is dropped and counted, as is what cannot be
// read and what cannot be sent.
func TestInputOfWhoIsNoPlayerIsCounted(t *testing.T) {
	h, d := newDesk(t, Config{})
	stranger := d.chair()
	for range 3 {
		d.inbox.put(request{seat: stranger, ask: askSay, line: []byte("hello")})
	}
	a := d.sit("ann")
	ticks(t, h, 1)
	d.inbox.put(request{seat: a, ask: askLeave})
	d.inbox.put(request{seat: a, ask: askSay, line: []byte("one more thing")})
	d.inbox.unread()
	if !d.inbox.sent(nil) || d.inbox.sent(errors.New("the window is full")) || d.inbox.sent(errors.New("again")) {
		t.Error("what was sent is not what was said to be")
	}
	ticks(t, h, 1)
	h.look()
	st := h.Stats()
	if st.EarlyInput != 4 || st.Requests != 6 || len(d.heard) != 0 {
		t.Errorf("%d of %d requests were dropped, want 4 of 6; heard %q", st.EarlyInput, st.Requests, d.heard)
	}
	if st.UnreadInput != 1 || st.UnsentOutput != 2 {
		t.Errorf("%d were not read, %d not sent; want 1 and 2", st.UnreadInput, st.UnsentOutput)
	}
}

// T57: a hub that cannot keep up with the clock lets nobody in, serves who is there, and is as
// before within 10 s of the end of the load.
func TestWhoComesIsShedFirst(t *testing.T) {
	promise.Keeps(t, "T57", "gateway", 1)
	synctest.Test(t, func(t *testing.T) {
		h, d := newDesk(t, Config{TickRate: 20})
		var load atomic.Int64 // what a tick takes
		d.stall = func() { time.Sleep(time.Duration(load.Load())) }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		sit := func(name string) *Seat {
			s := d.sit(name)
			time.Sleep(time.Second) // in a bubble: no one waits
			return s
		}
		ask := func(s *Seat) (player *Player, tick uint64, kicked error) {
			h.Do(func() {
				player, kicked = s.player, s.kicked
				tick = h.main.sim.Tick()
			})
			return player, tick, kicked
		}
		first := sit("ann")
		load.Store(int64(40 * time.Millisecond)) // nearly all that there is
		time.Sleep(time.Minute)
		second := sit("bob")
		for _, s := range []*Seat{first, second} {
			if p, _, kicked := ask(s); p == nil || kicked != nil {
				t.Errorf("below its limit the hub says %v", kicked)
			}
		}
		load.Store(int64(150 * time.Millisecond)) // three times what it can
		time.Sleep(time.Minute)
		_, before, _ := ask(first)
		late, watcher := sit("eve"), d.chair()
		watcher.spectator = true
		d.inbox.put(request{seat: watcher, ask: askEnter})
		time.Sleep(time.Second)
		for _, s := range []*Seat{late, watcher} {
			if p, _, kicked := ask(s); p != nil || kicked != RefusedBusy {
				t.Errorf("who comes is told %v", kicked)
			}
		}
		if p, after, kicked := ask(first); p == nil || kicked != nil || after-before < 10 {
			t.Errorf("who is there is told %v, and saw %d ticks", kicked, after-before)
		}
		load.Store(int64(30 * time.Millisecond))
		time.Sleep(10 * time.Second)
		if behind := h.Stats().Behind; behind != 0 {
			t.Errorf("10 s after the load it is %v behind the clock", behind)
		}
		if p, kicked, _ := ask(sit("eve")); p == nil {
			t.Errorf("10 s after the load, who comes is told %v", kicked)
		}
		if st := h.Stats(); st.Shed != 2 || st.Players != 3 {
			t.Errorf("%d were shed, %d are in the game; want 2 and 3", st.Shed, st.Players)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A machine that stood still is no game with too much to do: who knocked meanwhile is let in.
func TestAStallTurnsNobodyAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := newDesk(t, Config{TickRate: 20})
		d.sit("ann") // an empty room sleeps
		seats := make([]*Seat, 0, 8)
		d.stall = func() {
			if n := h.main.sim.Tick(); n == 5 {
				time.Sleep(4 * time.Second) // in a bubble: no one waits
			} else if n > 5 && len(seats) < cap(seats) {
				seats = append(seats, d.sit(fmt.Sprint("player", n)))
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := h.Run(ctx); err != nil {
			t.Fatal(err)
		}
		for _, s := range seats {
			if s.player == nil || s.kicked != nil {
				t.Errorf("who comes while the stall is caught up with is told %v", s.kicked)
			}
		}
		if h.stats.Shed != 0 || len(seats) != cap(seats) {
			t.Errorf("of %d, %d were shed", len(seats), h.stats.Shed)
		}
	})
}

// T63: a stall is caught up with, so that the world keeps pace with the clock; after one that
// is too long the hub lets ticks go.
func TestTheWorldKeepsUpWithTheClock(t *testing.T) {
	promise.Keeps(t, "T63", "gateway", 1)
	for _, tt := range []struct {
		name    string
		stall   time.Duration
		skipped bool
	}{
		{"no stall", 0, false},
		{"a short stall", 300 * time.Millisecond, false},
		{"a stall of 4 s", 4 * time.Second, false},
		{"a stall of 6 s", 6 * time.Second, true},
		{"a stall of an hour", time.Hour, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, d := newDesk(t, Config{TickRate: 20})
				d.sit("ann") // an empty room sleeps
				n := 0
				d.stall = func() {
					if n++; n == 5 {
						time.Sleep(tt.stall) // in a bubble: no one waits
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), tt.stall+10*time.Second+time.Millisecond)
				defer cancel()
				if err := h.Run(ctx); err != nil {
					t.Fatal(err)
				}
				got := h.stats
				want := uint64((tt.stall + 10*time.Second) / (50 * time.Millisecond))
				if got.Ticks+got.SkippedTicks != want || (got.SkippedTicks > 0) != tt.skipped {
					t.Errorf("%d ticks and %d let go, want %d in all", got.Ticks, got.SkippedTicks, want)
				}
				if tt.skipped && got.SkippedTicks != uint64((tt.stall-mostBehind/2)/(50*time.Millisecond)-1) {
					t.Errorf("%d ticks were let go", got.SkippedTicks)
				}
				if (got.LateTicks+got.SkippedTicks > 0) != (tt.stall > 0) {
					t.Errorf("%d ticks were late", got.LateTicks)
				}
				if h.Do(func() {}) != ErrEnded {
					t.Error("a hub that has ended does things")
				}
			})
		})
	}
}

// A panic of the rule of sight is one of the game, and ends the room whose tick it was.
func TestAPanicOfTheRuleIsContained(t *testing.T) {
	g := pawnGame()
	g.Sees = func(w *world.World, _ world.PlayerID, _ world.ID) bool {
		if w.Mode() == "blind" && w.Tick() > 3 {
			panic("out of sight")
		}
		return true
	}
	var log bytes.Buffer
	h, d := newDesk(t, Config{Game: g, Log: slog.New(slog.NewTextHandler(&log, nil))})
	other := must(h.Open(Settings{Name: "other", Mode: "blind"}))
	ann := d.sit("ann")
	for _, name := range []string{"bob", "eve"} {
		s := d.chair()
		s.wants = "other"
		d.inbox.put(request{seat: s, ask: askEnter, name: name})
	}
	ticks(t, h, 10)
	if other.state != roomEnded || h.main.state == roomEnded || ann.player == nil || ann.kicked != nil {
		t.Errorf("the room is %v, and main %v", other.state, h.main.state)
	}
	if !strings.Contains(log.String(), "out of sight") {
		t.Errorf("the log is %s", log.String())
	}
}

func TestAPanicOfStepIsContained(t *testing.T) {
	g := pawnGame()
	step := g.Step
	g.Step = func(w *world.World, in []world.Input) {
		if w.Tick() == 3 {
			panic("out of pawns")
		}
		step(w, in)
	}
	var log, recording bytes.Buffer
	h, d := newDesk(t, Config{Game: g, Log: slog.New(slog.NewTextHandler(&log, nil)), Record: &recording})
	d.sit("ann")
	var err error
	for i := 0; err == nil && i < 10; i++ {
		err = h.Tick()
	}
	if err == nil || !strings.Contains(err.Error(), "out of pawns") {
		t.Fatalf("the error is %v", err)
	}
	for _, want := range []string{"the game panicked", "out of pawns", "hub_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log is without %q: %s", want, log.String())
		}
	}
	if recording.Len() == 0 {
		t.Error("there is no recording")
	}
}

func TestConnectionsThatNeverEnteredLeave(t *testing.T) {
	h, d := newDesk(t, Config{})
	s := d.chair()
	d.inbox.put(request{seat: s, ask: askLeave})
	d.inbox.put(request{seat: s, ask: askEnter, name: "late"})
	d.inbox.put(request{seat: s, ask: askSteer})
	ticks(t, h, 2)
	if len(h.main.players) != 0 || len(h.main.deskSeats()) != 0 {
		t.Errorf("%d players, %d seats", len(h.main.players), len(h.main.deskSeats()))
	}
}

//go:build unix

package program

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	front "parley"
	"parley/account/storetest"
	"parley/arena"
	"parley/internal/patient"
	"parley/program/tui"
	"parley/world"
)

// ptyUser sits at a pseudo terminal.
type ptyUser struct {
	*testing.T
	keyboard, tty *os.File
	out           *screen
	before        *term.State
}

func newPTY(t *testing.T, columns, rows uint16) *ptyUser {
	t.Helper()
	t.Setenv("TERM", "xterm-256color")
	keyboard, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	u := &ptyUser{T: t, keyboard: keyboard, tty: tty, out: newScreen()}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: columns, Rows: rows}); err != nil {
		t.Fatal(err)
	}
	if u.before, err = term.GetState(int(tty.Fd())); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 4096)
		for {
			n, err := keyboard.Read(b)
			u.out.Write(b[:n])
			if err != nil || bytes.Contains(b[:n], []byte("\x00")) {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_, _ = tty.Write([]byte{0}) // and not closed: bubbletea does not wait without end for what reads keys, which may still look at it
		patient.Value(read)
		keyboard.Close()
	})
	return u
}

// types types keys, as a terminal writes them.
func (u *ptyUser) types(keys string) {
	u.Helper()
	if _, err := u.keyboard.WriteString(keys); err != nil {
		u.Fatal(err)
	}
}

// until types the keys again and again until cond is true.
func (u *ptyUser) until(what, keys string, cond func() bool) {
	u.Helper()
	for begin := time.Now(); !cond(); {
		if time.Since(begin) > time.Minute {
			u.Fatalf("not %s: %q", what, u.out.take())
		}
		u.types(keys)
		select {
		case <-u.out.news:
		case <-time.After(100 * time.Millisecond): // two redraws
		}
	}
}

// ends waits until the full screen is over.
func (u *ptyUser) ends(done <-chan error) {
	u.Helper()
	select {
	case err := <-done:
		if err != nil {
			u.Error(err)
		}
	case <-time.After(time.Minute):
		u.Fatalf("it does not end: %q", u.out.take())
	}
}

// restored fails unless the terminal is as it was: not raw, on its usual screen, with its cursor. It returns what was written last.
func (u *ptyUser) restored() (text string) {
	u.Helper()
	after, err := term.GetState(int(u.tty.Fd()))
	if err != nil || !reflect.DeepEqual(after, u.before) {
		u.Errorf("the terminal is %+v, and was %+v: %v", after, u.before, err)
	}
	u.until("the usual screen with a cursor", "", func() bool {
		text += u.out.take()
		last := strings.LastIndex
		return last(text, "\x1b[?1049l") > last(text, "\x1b[?1049h") && last(text, "\x1b[?25h") >= last(text, "\x1b[?25l")
	})
	return text
}

// localGame is a joinScreen of an arena in this process: time passes as often as somebody looks.
func localGame(t *testing.T) (j *joinScreen, own func() world.Body, said *[]string) {
	t.Helper()
	sim, err := world.New(arena.Game(), world.Config{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := sim.Join("ann")
	sim.Join("bob")
	sim.Advance()
	player, _ := sim.World().Player(p)
	said = new([]string)
	var mu sync.Mutex
	body := *sim.World().Body(player.Entity)
	own = func() world.Body {
		mu.Lock()
		defer mu.Unlock()
		return body
	}
	j = &joinScreen{screen: tui.New(sim.Schema()), over: func() bool { return false }}
	j.look = func(time.Time) tui.Scene {
		sim.Advance()
		mu.Lock()
		defer mu.Unlock()
		body = *sim.World().Body(player.Entity)
		return tui.Scene{World: sim.World(), Own: player.Entity, Tick: float64(sim.Tick())}
	}
	j.do = func(c tui.Command) error {
		switch c.Kind {
		case tui.Steer:
			sim.Steer(p, sim.Tick(), world.Steering{Angle: c.Angle, HasAngle: true, Norm: c.Norm, HasNorm: true}, 0)
		case tui.Act:
			sim.Act(p, sim.Tick(), c.Action, c.Params, 0)
		case tui.Say:
			*said = append(*said, c.Text)
		case tui.Line:
			return errLeave
		}
		return nil
	}
	return j, own, said
}

// Keys of a real terminal walk the own player and speak, and each way to leave leaves the terminal as it was.
func TestTheFullScreenInATerminal(t *testing.T) {
	for _, tt := range []struct{ name, leave string }{
		{"q", "q"}, {"control C", "\x03"}, {"a command", "\r/quit\r"}, {"control C while typing", "\rhal\x03"}, {"a signal", ""}, {"the end of the game", "over"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := newPTY(t, 80, 24)
			j, own, said := localGame(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if tt.leave == "over" {
				j.over = func() bool { return len(*said) > 0 }
			}
			done := make(chan error, 1)
			go func() { done <- j.run(ctx, u.tty, u.tty) }()
			text := ""
			u.until("drawn", "", func() bool {
				text += u.out.take()
				return strings.Contains(text, "\x1b[?1049h") && strings.Contains(text, "in sight") && strings.Contains(text, "@")
			})
			begin := own()
			u.until("walking to the right", "\x1b[C", func() bool { return own().X > begin.X+10 })
			u.until("walking up", "w", func() bool { return own().Angle > 1 && own().Norm == arena.PlayerSpeed })
			u.until("standing", "x", func() bool { return own().Norm == 0 })
			u.types("\rhello q\r")
			switch tt.leave {
			case "":
				stop()
			case "over":
			default:
				u.types(tt.leave)
			}
			u.ends(done)
			if tt.leave != "" && (len(*said) != 1 || (*said)[0] != "hello q") {
				t.Errorf("it said %q", *said)
			}
			u.restored()
		})
	}
}

// With NO_COLOR there is no colour.
func TestTheFullScreenWithoutColour(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	u := newPTY(t, 80, 24)
	j, _, _ := localGame(t)
	done := make(chan error, 1)
	go func() { done <- j.run(t.Context(), u.tty, u.tty) }()
	text := ""
	u.until("drawn", "", func() bool {
		text += u.out.take()
		return strings.Contains(text, "in sight")
	})
	u.types("q")
	u.ends(done)
	text += u.restored()
	for _, colour := range []string{"\x1b[31", "\x1b[90", "\x1b[0;90", ";33m", ";31m"} {
		if strings.Contains(text, colour) {
			t.Errorf("%q is in %q", colour, text)
		}
	}
}

// witness is a server of the arena that says where its players are.
type witness struct {
	*front.Server
	addrs map[string]string
	mu    sync.Mutex
	at    map[string]arena.Player
	balls int
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	game := arena.Game()
	s := &witness{addrs: map[string]string{}}
	step := game.Step
	game.Step = func(w *world.World, in []world.Input) {
		step(w, in)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.at, s.balls = map[string]arena.Player{}, s.balls+world.Count[arena.Ball](w)
		for p := range w.Players() {
			if body := world.Get[arena.Player](w, p.Entity); body != nil {
				s.at[p.Name] = *body
			}
		}
	}
	const any = "127.0.0.1:0"
	var err error
	s.Server, err = front.Start(game, front.Config{
		Replica: any, Stamp: any, Relay: any, Duplex: any, Realm: any, RealmTime: any, RealmPlain: true,
		Accounts: storetest.OpenMemory, Seed: 7, Registrations: -1, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, a := range s.Addrs() {
		s.addrs[a.Name] = a.Addr.String()
	}
	return s
}

func (s *witness) player(name string) (arena.Player, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.at[name]
	return p, ok
}

func (s *witness) thrown() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.balls
}

// joinAt joins in a full screen.
func joinAt(u *ptyUser, args ...string) <-chan error {
	done := make(chan error, 1)
	go func() {
		var err error
		if status := ours(builtIn()...).run(append([]string{"join"}, args...), streams{In: u.tty, Out: u.tty, Err: u.tty}); status != exitOK {
			err = fmt.Errorf("status %d", status)
		}
		done <- err
	}()
	return done
}

// shows waits until all of the texts have been drawn.
func (u *ptyUser) shows(texts ...string) {
	u.Helper()
	seen := ""
	u.until(fmt.Sprintf("drawn: %q", texts), "", func() bool {
		seen += u.out.take()
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(seen, text) })
	})
}

// In a terminal join is a game, over each dialect: keys walk the player on the server, throw and speak, and the terminal is as it
// was afterwards.
func TestJoinInATerminal(t *testing.T) {
	s := newWitness(t)
	for _, dialect := range []string{"replica", "relay", "duplex", "realm"} {
		t.Run(dialect, func(t *testing.T) {
			u := newPTY(t, 80, 24)
			args := []string{dialect, s.addrs[dialect], "--name", "ann"}
			if dialect == "realm" {
				args = append(args, "--realm-plain")
			}
			done := joinAt(u, args...)
			if dialect == "realm" {
				u.shows("password of ann")
				u.types("correct horse\r")
			}
			u.shows("\x1b[?1049h", "ann", "@", "in sight", "█")
			u.until("in the game", "", func() bool { _, ok := s.player("ann"); return ok })
			begin, _ := s.player("ann")
			u.until("to the right on the server", "\x1b[C", func() bool { p, _ := s.player("ann"); return p.X > begin.X+10 })
			u.until("standing", "x", func() bool { p, _ := s.player("ann"); return p.Norm == 0 })
			thrown := s.thrown()
			u.until("a ball", "t", func() bool { return s.thrown() > thrown })
			u.types("\rhello\r")
			u.shows("ann: hello")
			u.types("q")
			u.ends(done)
			u.restored()
			u.until("gone", "", func() bool { _, ok := s.player("ann"); return !ok })
		})
	}
}

// Over stamp everything is on the screen, and keys say that there is nothing to steer.
func TestWatchingInATerminal(t *testing.T) {
	s := newWitness(t)
	player := newPTY(t, 80, 24)
	playing := joinAt(player, "duplex", s.addrs["duplex"], "--name", "ann")
	player.shows("@")
	u := newPTY(t, 80, 24)
	done := joinAt(u, "stamp", s.addrs["stamp"])
	u.shows("watching", "P")
	u.types("d")
	u.shows("you have nothing to steer here")
	for _, u := range []*ptyUser{u, player} {
		u.types("q")
	}
	u.ends(done)
	player.ends(playing)
}

// A player whose server ends reads why on the usual screen.
func TestTheEndOfTheGameIsReadAfterTheFullScreen(t *testing.T) {
	s := newWitness(t)
	u := newPTY(t, 80, 24)
	done := joinAt(u, "replica", s.addrs["replica"], "--no-resume")
	u.shows("@")
	s.Close()
	select {
	case err := <-done:
		if err == nil {
			t.Error("it ends well")
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	text := u.restored()
	u.until("read on the usual screen why", "", func() bool {
		text += u.out.take()
		_, after, _ := strings.Cut(text, "\x1b[?1049l")
		return strings.Contains(after, "server closing")
	})
}

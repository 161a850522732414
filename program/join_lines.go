package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/client"
	"parley/internal/plain"
	"parley/world"
)

// lookEvery is how often a player by lines looks for what has happened.
const lookEvery = time.Second / 20

// playLines plays by lines: commands in, and what happens out.
func (f *joinFlags) playLines(ctx context.Context, cmd *cobra.Command, in *lineReader, dialect, addr string, game world.Game, c client.Config) error {
	player, err := dial(ctx, f.scheme(dialect), addr, game, c)
	if player == nil {
		return err
	}
	s := &joinSeat{player: player, game: game, out: cmd.OutOrStdout(), sees: dialect != "stamp"}
	arrived := dialect == "stamp" || !f.app.hasBodies() || s.arrive(ctx)
	if arrived && !s.over {
		s.print("joined %s at %s; type help for what you can do", dialect, addr)
		s.play(ctx, in)
	}
	err = player.Close()
	switch {
	case errors.Is(s.why, client.ErrOtherGame):
		return failure{fmt.Errorf("cannot play over %s at %s: %s", dialect, addr, strings.TrimPrefix(s.why.Error(), "client: "))}
	case s.over:
		return errReported // the player has read why
	case ctx.Err() != nil:
		return nil
	case !arrived:
		return failure{fmt.Errorf("joined %s at %s, but got no place in the game: it is full, or is another game", dialect, addr)}
	case err != nil: // the server is gone, and so are we
		return failure{err}
	}
	return nil
}

// joinSeat is who plays by lines. It belongs to one goroutine.
type joinSeat struct {
	player *client.Client
	game   world.Game
	out    io.Writer
	sees   bool // it is told of terrain
	frame  *client.Frame
	lost   time.Time // since when the player is away
	over   bool      // somebody else has ended it
	why    error     // and why
}

// look takes the newest frame, and prints what has happened.
func (s *joinSeat) look(now time.Time) {
	s.frame, s.why = s.player.At(now), s.player.Err()
	for ev := range s.frame.Events() {
		s.notice(now, ev)
	}
}

// arrive waits until the player sees itself: what it did before would be lost, as it is in no game yet.
func (s *joinSeat) arrive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	next := time.NewTicker(lookEvery)
	defer next.Stop()
	for {
		if s.look(time.Now()); s.over || s.frame.Own() != 0 {
			return true
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return false
		}
	}
}

func (s *joinSeat) print(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// notice prints what happens.
func (s *joinSeat) notice(now time.Time, ev client.Event) {
	text := plain.Text(ev.Text)
	switch {
	case ev.Kind == client.Said:
		s.print("%s: %s", cmp.Or(plain.Text(ev.Name), "somebody"), text)
	case ev.Kind == client.Unpredicted:
		s.print("what you do is shown later from now on: the game does not run here: %s", text)
	case !ev.Own:
	case ev.Kind == client.Away:
		s.lost = now
		s.print("connection lost, coming back … (%s)", text)
	case ev.Kind == client.Back:
		s.print("back after %s", latency(now.Sub(s.lost)))
		s.lost = time.Time{}
	case ev.Kind == client.Ended:
		if s.over = true; !s.lost.IsZero() {
			text = "could not come back: " + text
		}
		if s.why == nil || !errors.Is(s.why, client.ErrOtherGame) { // which is the error of the command
			s.print("%s", text)
		}
	}
}

// play reads commands until there are no more, or the game is over.
func (s *joinSeat) play(ctx context.Context, in *lineReader) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan string)
	go func() { // it may wait in a read for ever: it ends with the process
		defer close(lines)
		for {
			text, err := in.next()
			if line := strings.TrimSpace(string(text)); line != "" {
				select {
				case lines <- line:
				case <-ctx.Done():
					return
				}
			}
			if err != nil && !errors.Is(err, errLineTooLong) {
				return
			}
		}
	}()
	next := time.NewTicker(lookEvery)
	defer next.Stop()
	for {
		s.look(time.Now())
		if s.over {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		case line, ok := <-lines:
			if !ok || !s.command(line) {
				return
			}
		}
	}
}

// ways are the directions of keys, in degrees; y is up.
var ways = map[string]float64{"d": 0, "w": 90, "a": 180, "s": 270}

// command does what a line says. It reports false if that is to leave.
func (s *joinSeat) command(line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	var err error
	switch angle, isWay := ways[word]; {
	case isWay && rest == "":
		err = s.steer(angle, s.topSpeed()/2)
	case word == "x" && rest == "":
		err = s.steer(0, 0)
	case word == "walk":
		err = s.walk(rest)
	case line == "map":
		s.print("%s", s.chart())
	case line == "who":
		s.print("%s", s.list())
	case line == "help":
		s.print("%s", s.help())
	case line == "quit" || line == "q":
		return false
	case actionOf(s.schema(), word) != nil:
		err = s.act(actionOf(s.schema(), word), rest)
	default:
		text := line
		if word == "say" {
			text = rest
		}
		err = s.player.Say(text)
	}
	if err != nil {
		s.print("that did not work: %s", sentence(err))
	}
	return true
}

func (s *joinSeat) schema() *world.Schema { return s.frame.World().Schema() }

func (s *joinSeat) steer(degrees, norm float64) error {
	return s.player.Steer(float32(degrees*math.Pi/180), float32(norm))
}

func (s *joinSeat) walk(rest string) error {
	words := strings.Fields(rest)
	if len(words) != 2 {
		return fmt.Errorf("write walk ANGLE SPEED, such as walk 45 1.5")
	}
	angle, err1 := strconv.ParseFloat(words[0], 64)
	speed, err2 := strconv.ParseFloat(words[1], 64)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("write walk ANGLE SPEED with numbers, such as walk 45 1.5")
	}
	if top := s.topSpeed(); !(math.Abs(speed) <= top) {
		return fmt.Errorf("the speed is at most %v cells a tick", top)
	}
	return s.steer(angle, speed)
}

// topSpeed is the greatest speed of the player's own kind, in cells a tick.
func (s *joinSeat) topSpeed() float64 {
	if k := s.frame.World().KindOf(s.frame.Own()); k != nil {
		return k.MaxSpeed
	}
	return 0
}

func (s *joinSeat) act(a *world.Action, rest string) error {
	params, err := paramsOf(a, rest)
	if err != nil {
		return err
	}
	return s.player.Act(a, params...)
}

// help says what can be typed.
func (s *joinSeat) help() string {
	list := []string{"w a s d walk, x stops, walk ANGLE SPEED"}
	for _, a := range s.schema().Actions {
		list = append(list, usageOf(a))
	}
	return strings.Join(append(list, "map, who, say TEXT, quit"), ", ")
}

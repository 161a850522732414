package program

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/client"
	"parley/internal/plain"
	"parley/program/tui"
	"parley/world"
)

// playScreen plays in a full screen.
func (f *joinFlags) playScreen(ctx context.Context, cmd *cobra.Command, in, out *os.File, dialect, addr string, game world.Game, c client.Config) error {
	player, err := dial(ctx, f.scheme(dialect), addr, game, c)
	if player == nil {
		return err
	}
	g := &screenGame{player: player, dialect: dialect}
	schema, err := game.Schema()
	if err != nil {
		return failure{err}
	}
	g.schema, g.screen = schema, tui.New(schema)
	j := &joinScreen{screen: g.screen, look: g.look, do: g.do, over: func() bool { return g.ended != "" }}
	err = j.run(ctx, in, out)
	closing := player.Close()
	switch {
	case g.ended != "":
		fmt.Fprintln(out, plain.Text(g.ended))
		return errReported
	case err != nil:
		return failure{fmt.Errorf("the terminal cannot be drawn on: %w; to play by lines, write: cat | %s", err, cmd.CommandPath())}
	case closing != nil:
		return failure{closing}
	}
	return nil
}

// screenGame is a game that is played in a full screen.
type screenGame struct {
	player  *client.Client
	dialect string
	schema  *world.Schema
	screen  *tui.Screen
	away    bool
	ended   string // why it is over
}

// look returns the newest frame, after it has told what has happened.
func (g *screenGame) look(now time.Time) tui.Scene {
	frame := g.player.At(now)
	for ev := range frame.Events() {
		if ev.Kind != client.Joined || !ev.Own && ev.Name != frame.Name(frame.Own()) {
			g.tell(ev)
		}
	}
	line := g.dialect
	switch s := g.player.Stats(); {
	case g.away:
		line += ": connection lost, coming back"
	case s.Lead > 0:
		line += fmt.Sprintf(" %d/%d ms", s.Lead.Milliseconds(), s.Delay.Milliseconds()) // ahead, and behind
	}
	return tui.Scene{World: frame.World(), Own: frame.Own(), Tick: frame.Tick, Name: frame.Name, Line: line}
}

// tell says what has happened.
func (g *screenGame) tell(ev client.Event) {
	switch ev.Kind {
	case client.Said:
		g.screen.Hear(ev.Name, ev.Text)
	case client.Joined:
		g.screen.Tell(ev.Name + " has joined")
	case client.Left:
		g.screen.Tell(ev.Name + " has left")
	case client.Away:
		if g.away = g.away || ev.Own; ev.Own {
			g.screen.Tell("connection lost, coming back … (" + ev.Text + ")")
		} else {
			g.screen.Tell(ev.Name + " has lost the connection")
		}
	case client.Back:
		if g.away = g.away && !ev.Own; ev.Own {
			g.screen.Tell("back over " + ev.Text)
		} else {
			g.screen.Tell(ev.Name + " is back")
		}
	case client.Unpredicted:
		g.screen.Tell("what you do is shown later from now on: the game does not run here: " + ev.Text)
	case client.Ended:
		if g.ended = cmp.Or(strings.TrimPrefix(ev.Text, "client: "), "the game is over"); g.away {
			g.ended = "could not come back: " + g.ended
		}
	}
}

// do does what a key asks for.
func (g *screenGame) do(c tui.Command) error {
	switch c.Kind {
	case tui.Steer:
		return g.player.Steer(c.Angle, c.Norm)
	case tui.Act:
		return g.player.Act(c.Action, c.Params...)
	case tui.Say:
		return g.player.Say(c.Text)
	case tui.Line:
		return g.line(c.Text)
	}
	return nil
}

// line does a command that was typed.
func (g *screenGame) line(text string) error {
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case text == "quit" || text == "q":
		return errLeave
	case word == "say":
		return g.player.Say(rest)
	case actionOf(g.schema, word) != nil:
		a := actionOf(g.schema, word)
		params, err := paramsOf(a, rest)
		if err != nil {
			return err
		}
		return g.player.Act(a, params...)
	}
	return fmt.Errorf("there is no command %q; there are say, quit and the actions of the game", word)
}

// keyHelp are the lines of join's help for the keys of actions.
func (a *app) keyHelp() string {
	schema, err := a.game.Schema()
	if err != nil || len(schema.Actions) == 0 {
		return "(the game has no actions)"
	}
	var lines []string
	for i, key := range tui.ActionKeys(schema) {
		if key != "" {
			lines = append(lines, fmt.Sprintf("%-16s %s", key, strings.ReplaceAll(schema.Actions[i].Name, "_", " ")))
		}
	}
	return strings.Join(lines, "\n  ")
}

package program

import (
	"context"
	"errors"
	"io"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"parley/program/tui"
)

// redrawEvery is how often the full screen is drawn: 20 times a second.
const redrawEvery = time.Second / 20

// joinScreen is the full screen of join: it has the terminal, and package tui says what is on it.
type joinScreen struct {
	screen *tui.Screen
	look   func(now time.Time) tui.Scene // the newest frame; it also tells the screen of what has happened
	do     func(tui.Command) error
	over   func() bool // the connection has ended for good
}

// redraw is the message of a redraw that is due.
type redraw time.Time

// run plays until the player leaves, the game is over or ctx is done. It leaves the terminal as it was.
func (j *joinScreen) run(ctx context.Context, in io.Reader, out io.Writer) error {
	p := tea.NewProgram(j, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithFPS(int(time.Second/redrawEvery)))
	_, err := p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	return err
}

func tick() tea.Cmd { return tea.Tick(redrawEvery, func(now time.Time) tea.Msg { return redraw(now) }) }

func (j *joinScreen) Init() tea.Cmd { return tick() }

func (j *joinScreen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		j.screen.Resize(msg.Width, msg.Height)
	case redraw:
		j.screen.See(j.look(time.Now()))
		if j.over() {
			return j, tea.Quit
		}
		return j, tick()
	case tea.PasteMsg:
		j.screen.Paste(msg.Content)
	case tea.KeyPressMsg:
		if key := msg.Key(); utf8.RuneCountInString(key.Text) > 1 { // an input method gives whole words
			j.screen.Paste(key.Text)
			return j, nil
		}
		return j, j.command(j.screen.Key(msg.String()))
	}
	return j, nil
}

// command does what a key asks for, at once: the next frame shows it.
func (j *joinScreen) command(c tui.Command) tea.Cmd {
	switch c.Kind {
	case tui.Nothing:
		return nil
	case tui.Quit:
		return tea.Quit
	}
	if err := j.do(c); errors.Is(err, errLeave) {
		return tea.Quit
	} else if err != nil {
		j.screen.Tell("that did not work: " + sentence(err))
	}
	return nil
}

// errLeave is what a typed command returns that means to leave.
var errLeave = errors.New("leave")

func (j *joinScreen) View() tea.View {
	v := tea.NewView(j.screen.Draw())
	v.AltScreen = true
	if column, row, ok := j.screen.Cursor(); ok {
		v.Cursor = tea.NewCursor(column, row)
	}
	return v
}

package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"parley/arena"
	"parley/internal/player"
	"parley/world"
)

// joinFlags are what the command line says.
type joinFlags struct {
	name, password string
	fingerprint    string
	plain          bool
	passwordStdin  bool
	tickRate       int
}

func newJoin() *cobra.Command {
	var f joinFlags
	cmd := &cobra.Command{
		Use:   "join DIALECT [HOST:PORT]",
		Short: "Play the arena from the terminal, over any dialect",
		Long: `Join plays the arena from the terminal, or watches it: stamp has spectators
only.

It reads commands, a line each, and prints what happens:

  w a s d        walk up, left, down, right; x stops
  walk 45 1.5    walk at an angle in degrees, so many cells a tick
  t 90           throw a ball at an angle in degrees
  map            show what is around
  who            list what is in sight
  say hello      speak; so does a line that is no command
  quit           leave

Without an address it is this machine and the dialect's usual port.`,
		Example: `  parley join replica
  parley join duplex 127.0.0.1:7004
  parley join realm game.example:9999 --name ada
  echo map | parley join relay`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 || len(args) > 2:
				return fmt.Errorf("name one dialect, %s, and perhaps an address", sentenceList(player.Dialects, "or"))
			case !player.IsDialect(args[0]):
				return fmt.Errorf("there is no dialect %q; there are %s", args[0], sentenceList(player.Dialects, "and"))
			}
			return nil
		},
		ValidArgs: player.Dialects,
		RunE:      func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "realm: the account's name; it is registered if there is none")
	flags.StringVar(&f.fingerprint, "fingerprint", "", "realm: the server's certificate must have this SHA-256")
	flags.BoolVar(&f.plain, "realm-plain", false, "realm without TLS")
	flags.BoolVar(&f.passwordStdin, "password-stdin", false, "realm: the password is the first line of standard input")
	flags.IntVar(&f.tickRate, "tick-rate", 20, "the server's ticks a second")
	return cmd
}

func (f *joinFlags) run(cmd *cobra.Command, args []string) error {
	dialect, addr := args[0], "127.0.0.1:"+standardPorts[args[0]]
	if len(args) == 2 {
		addr = args[1]
	}
	schema, err := arenaSchema()
	if err != nil {
		return failure{err}
	}
	in := bufio.NewReader(cmd.InOrStdin())
	if dialect == "realm" {
		if err := f.credentials(cmd, in); err != nil {
			return err
		}
	}
	stopped, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	seat := &joinSeat{out: cmd.OutOrStdout(), schema: schema, over: make(chan struct{}), news: make(chan struct{}, 1)}
	dialing, cancel := context.WithTimeout(stopped, 10*time.Second)
	seat.player, err = player.Join(dialing, dialect, addr, player.Config{
		Schema: schema, Name: f.name, Password: f.password, Fingerprint: f.fingerprint, Plain: f.plain, TickRate: f.tickRate, Notice: seat.notice,
	})
	cancel()
	if err != nil {
		return failure{fmt.Errorf("cannot join %s at %s: %w", dialect, addr, err)}
	}
	if dialect != "stamp" && !seat.arrive(stopped) {
		seat.player.Close(stopped)
		return failure{fmt.Errorf("joined %s at %s, but the game gave us no place; is it full?", dialect, addr)}
	}
	seat.print("joined %s at %s; type help for what you can do", dialect, addr)
	seat.play(stopped, in)
	late, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return closed(seat.player.Close(late))
}

// closed is the error of a Close that was late: the server is gone, and so are we.
func closed(err error) error {
	if err != nil {
		return failure{err}
	}
	return nil
}

// credentials asks for what realm wants to know.
func (f *joinFlags) credentials(cmd *cobra.Command, in *bufio.Reader) error {
	if f.name == "" {
		return fmt.Errorf("realm has accounts; say which with --name")
	}
	if f.passwordStdin {
		line, err := in.ReadString('\n')
		if err != nil && line == "" {
			return failure{fmt.Errorf("no password on standard input")}
		}
		f.password = strings.TrimRight(line, "\r\n")
		return nil
	}
	file, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return fmt.Errorf("there is no terminal to type a password at; use --password-stdin")
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "password of %s: ", f.name)
	typed, err := term.ReadPassword(int(file.Fd()))
	fmt.Fprintln(cmd.ErrOrStderr())
	if err != nil {
		return failure{err}
	}
	f.password = string(typed)
	return nil
}

// joinSeat is who sits at the terminal.
type joinSeat struct {
	player *player.Player
	schema *world.Schema
	mu     sync.Mutex
	out    io.Writer
	over   chan struct{}
	news   chan struct{} // something in sight is new
}

// arrive waits until the player sees itself: what it did before would be lost, as it is in no
// game yet.
func (s *joinSeat) arrive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		here := false
		s.player.See(func(v *player.Sight) { _, here = v.Things[v.You] })
		if here {
			return true
		}
		select {
		case <-s.news:
		case <-s.over:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (s *joinSeat) print(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// notice prints what happens.
func (s *joinSeat) notice(n player.Notice) {
	switch n.Kind {
	case player.Updated:
		select {
		case s.news <- struct{}{}:
		default:
		}
	case player.Said:
		name := n.Name
		if name == "" {
			name = "somebody"
		}
		s.print("%s: %s", name, printable(n.Text))
	case player.Ended:
		s.print("%s", n.Text)
		close(s.over)
	}
}

// printable keeps what others say from moving the cursor about.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '·'
		}
		return r
	}, text)
}

// play reads commands until there are no more, or the connection is over.
func (s *joinSeat) play(ctx context.Context, in *bufio.Reader) {
	lines := make(chan string)
	go func() { // it may wait in a read for ever: it ends with the process
		defer close(lines)
		for {
			line, err := in.ReadString('\n')
			if line = strings.TrimSpace(line); line != "" {
				select {
				case lines <- line:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.over:
			return
		case line, ok := <-lines:
			if !ok || !s.command(ctx, line) {
				return
			}
		}
	}
}

// ways are the directions of keys, in degrees; y is up.
var ways = map[string]float64{"d": 0, "w": 90, "a": 180, "s": 270}

// command does what a line says. It reports false if that is to leave.
func (s *joinSeat) command(ctx context.Context, line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	var err error
	switch angle, isWay := ways[word]; {
	case isWay && rest == "":
		err = s.steer(angle, arena.PlayerSpeed/2)
	case word == "x" && rest == "":
		err = s.steer(0, 0)
	case word == "walk":
		err = s.walk(rest)
	case word == "t" || word == "throw":
		err = s.throw(rest)
	case line == "map":
		s.print("%s", s.chart())
	case line == "who":
		s.print("%s", s.list())
	case line == "help":
		s.print("w a s d walk, x stops, walk ANGLE SPEED, t ANGLE throws, map, who, say TEXT, quit")
	case line == "quit" || line == "q":
		return false
	default:
		text := line
		if word == "say" {
			text = rest
		}
		err = s.player.Say(ctx, text)
	}
	if err != nil {
		s.print("that did not work: %v", err)
	}
	return true
}

func (s *joinSeat) steer(degrees, norm float64) error {
	return s.player.Steer(float32(degrees*math.Pi/180), float32(norm))
}

func (s *joinSeat) walk(rest string) error {
	words := strings.Fields(rest)
	if len(words) != 2 {
		return fmt.Errorf("write walk ANGLE SPEED, as walk 45 1.5")
	}
	angle, err1 := strconv.ParseFloat(words[0], 64)
	speed, err2 := strconv.ParseFloat(words[1], 64)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("write walk ANGLE SPEED with numbers, as walk 45 1.5")
	}
	return s.steer(angle, speed)
}

func (s *joinSeat) throw(rest string) error {
	angle := 0.0
	if rest != "" {
		var err error
		if angle, err = strconv.ParseFloat(rest, 64); err != nil {
			return fmt.Errorf("write t ANGLE with a number of degrees, as t 90")
		}
	}
	return s.player.Act(s.schema.ActionNamed("throw"), world.FloatValue(world.F32, angle*math.Pi/180), world.UintValue(world.Entity, 0))
}

// The map is that many characters wide and high; one is two cells wide and four high, as
// characters are twice as high as they are wide.
const mapWidth, mapHeight, mapCells = 64, 20, 4

// chart draws what is in sight around the player's own entity, or around the middle.
func (s *joinSeat) chart() string {
	var b strings.Builder
	s.player.See(func(v *player.Sight) {
		x, y := 0.0, 0.0
		if own, ok := v.Things[v.You]; ok {
			x, y = own.X, own.Y
		}
		var rows [mapHeight][mapWidth]rune
		for r := range rows {
			for c := range rows[r] {
				rows[r][c] = '·'
			}
		}
		for id, t := range v.Things {
			c := int(math.Round((t.X-x)/mapCells)) + mapWidth/2
			r := mapHeight/2 - int(math.Round((t.Y-y)/(2*mapCells)))
			if r >= 0 && r < mapHeight && c >= 0 && c < mapWidth {
				rows[r][c] = glyph(t, id == v.You)
			}
		}
		fmt.Fprintf(&b, "at (%.0f, %.0f); @ you, P players, o balls; a sign is %d by %d cells\n", x, y, mapCells, 2*mapCells)
		for r := range rows {
			b.WriteString(string(rows[r][:]))
			if r < mapHeight-1 {
				b.WriteByte('\n')
			}
		}
	})
	return b.String()
}

func glyph(t player.Thing, you bool) rune {
	switch {
	case you:
		return '@'
	case t.Kind == 1:
		return 'P'
	}
	return 'o'
}

// list says what is in sight.
func (s *joinSeat) list() string {
	var b strings.Builder
	s.player.See(func(v *player.Sight) {
		ids := make([]uint16, 0, len(v.Things))
		for id := range v.Things {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		fmt.Fprintf(&b, "%d in sight", len(ids))
		for _, id := range ids {
			t := v.Things[id]
			kind := "?"
			if k := s.schema.Kind(t.Kind); k != nil {
				kind = k.Name
			}
			you := ""
			if id == v.You {
				you = ", which is you"
			}
			fmt.Fprintf(&b, "\n  %-6s %5d at (%.1f, %.1f)%s", kind, id, t.X, t.Y, you)
			if name := v.Players[id]; name != "" {
				fmt.Fprintf(&b, " %s", printable(name))
			}
		}
	})
	return b.String()
}

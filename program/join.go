package program

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"parley/internal/plain"
	"parley/play/bots"
	"parley/play/line"
	"parley/play/message"
	"parley/protocol/realm"
	"parley/world"
)

// joinPatience is how long a server may take to let somebody in.
var joinPatience = 10 * time.Second

// joinFlags are what the command line says.
type joinFlags struct {
	app            *app
	name, password string
	fingerprint    string
	known          string
	profile        string
	plain          bool
	passwords      passwordFlag
	ticket         string
	room           string
	noResume       bool
	tickRate       int
	match          matchFlags
}

func (a *app) newJoin() *cobra.Command {
	f := joinFlags{app: a, match: matchFlags{app: a}}
	cmd := &cobra.Command{
		Use:   "join DIALECT [HOST:PORT]",
		Short: "Play " + a.title() + " from the terminal, over any dialect",
		Long: `Join plays the game from the terminal. Over stamp it only watches, as stamp has
spectators only.

It reads commands, one a line, and prints what happens:

  w a s d        walk up, left, down, right; x stops
  walk 45 1.5    walk at an angle in degrees and a speed in cells a tick` + a.actionHelp() + `
  map            draw a map of what is in sight
  who            list what is in sight
  say hello      speak; a line that is no command is spoken too
  quit           leave

The first letter of an action is enough if nothing else begins with it.
Parameters that are left out are 0. An angle is in degrees.

Without an address, it joins the server on this machine at the dialect's usual
port. If the connection is lost, it comes back by itself as the same player, as
long as the server holds the place.

With --match it finds others who want to play the same mode. Two who say so in
two terminals meet in a room of their own.`,
		Example: `  parley join replica
  parley join duplex 127.0.0.1:7004 --room duel --name ada
  parley join realm game.example:9999 --name ada
  parley join --match duel --name ada
  parley join duplex --match race --players 4 --play http://game.example:8000
  parley join relay --ticket $(parley ticket make --key-file server.key)
  echo map | parley join relay`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && f.match.wanted(cmd):
			case len(args) == 0 || len(args) > 2:
				return fmt.Errorf("%q takes a dialect (%s) and, if you like, an address", cmd.CommandPath(), sentenceList(bots.Dialects, "or"))
			case !line.IsDialect(args[0]):
				return fmt.Errorf("there is no dialect %q; there are %s", args[0], sentenceList(bots.Dialects, "and"))
			}
			return nil
		},
		ValidArgs: bots.Dialects,
		RunE:      func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "the name that you want; realm: that of your account, which is registered if it does not exist (required)")
	flags.StringVar(&f.room, "room", "", "the room to enter; without it, the room main")
	flags.BoolVar(&f.noResume, "no-resume", false, "do not come back when the connection is lost")
	flags.StringVar(&f.fingerprint, "fingerprint", "", "realm: accept only the certificate with this SHA-256, in hex; without it, the certificate that was seen first")
	flags.StringVar(&f.known, "known-servers", "", "realm: the file of the certificates that were seen first (default "+defaultKnownText+")")
	flags.BoolVar(&f.plain, "realm-plain", false, "realm: connect without TLS")
	a.profileFlag(cmd, &f.profile, "realm: the --realm-profile of the server, plain or miko")
	flags.BoolVar(&f.passwords.stdin, "password-stdin", false, "realm: read the password from the first line of standard input")
	flags.StringVar(&f.ticket, "ticket", "", "replica, relay and duplex: a ticket in hex, as parley ticket make prints it; it can be used once")
	flags.IntVar(&f.tickRate, "tick-rate", defaultTickRate, "ticks a second of the server")
	f.match.register(cmd)
	return cmd
}

func (f *joinFlags) run(cmd *cobra.Command, args []string) error {
	if len(args) == 0 { // a match, for which any dialect that takes tickets will do
		args = []string{"replica"}
	}
	dialect, addr := args[0], "127.0.0.1:"+standardPorts[args[0]]
	if len(args) == 2 {
		addr = args[1]
	}
	if err := f.match.check(cmd, f, dialect); err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return fmt.Errorf("%q is not an address; write host:port, such as 127.0.0.1:%s", addr, standardPorts[dialect])
	}
	profile, err := f.app.profile(f.profile)
	if err != nil {
		return err
	}
	if f.fingerprint != "" && !isFingerprint(f.fingerprint) {
		return fmt.Errorf("--fingerprint %q is not a SHA-256 in hex, which has %d digits; the server logs it when it starts", f.fingerprint, 2*sha256.Size)
	}
	ticket, err := f.readTicket(dialect)
	if err != nil {
		return err
	}
	if !f.match.wanted(cmd) {
		err = f.checkRoom(dialect)
	}
	if err != nil {
		return err
	}
	schema, err := f.app.game.Schema()
	if err != nil {
		return failure{err}
	}
	in := newLineReader(cmd.InOrStdin())
	if dialect == "realm" {
		if err := f.credentials(cmd, in); err != nil {
			return err
		}
	}
	stopped, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	name := f.name
	if f.match.wanted(cmd) {
		at := ""
		if at, ticket, err = f.match.find(stopped, cmd, name, dialect); err != nil {
			if stopped.Err() != nil {
				return nil
			}
			return err
		}
		if name = ""; len(args) < 2 { // the ticket has it
			addr = at
		}
	}
	seat := &joinSeat{joining: true, out: cmd.OutOrStdout(), schema: schema, game: f.app.game, placeless: !f.app.hasBodies(), over: make(chan struct{}), news: make(chan struct{}, 1)}
	dialing, cancel := context.WithTimeout(stopped, joinPatience)
	seat.player, err = bots.Join(dialing, dialect, addr, bots.Config{
		Schema: schema, Name: name, Password: f.password, Trust: f.trust(cmd.ErrOrStderr()), Plain: f.plain, TickRate: cmp.Or(profile.tickRate, f.tickRate),
		RealmConfig: profile.fields, FirstType: profile.firstType, Pace: profile.walksByTicks, Land: true, Ticket: ticket, Notice: seat.notice,
		Room: f.room, Resume: line.Resume{On: !f.noResume},
	})
	cancel()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return failure{fmt.Errorf("cannot join %s at %s: there was no answer in %v; is a server there?", dialect, addr, joinPatience)}
	case err != nil:
		return failure{fmt.Errorf("cannot join %s at %s: %w", dialect, addr, err)}
	}
	seat.sit()
	arrived := dialect == "stamp" || seat.arrive(stopped)
	if arrived {
		seat.print("joined %s at %s; type help for what you can do", dialect, addr)
		seat.play(stopped, in)
	}
	ended := seat.leave()
	late, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err = seat.player.Close(late)
	switch {
	case ended:
		return errReported // the player has read why
	case !arrived && stopped.Err() == nil:
		return failure{fmt.Errorf("joined %s at %s, but got no place in the game: it is full, or is another game", dialect, addr)}
	case err != nil: // the server is gone, and so are we
		return failure{err}
	}
	return nil
}

// trust returns what looks at a server's certificate: that it is the pinned one, or the one that was seen first.
func (f *joinFlags) trust(w io.Writer) func(addr, fingerprint string) error {
	if f.fingerprint != "" {
		return func(_, fingerprint string) error {
			if pinned := strings.ToLower(strings.ReplaceAll(f.fingerprint, ":", "")); pinned != fingerprint {
				return fmt.Errorf("its certificate is not the one of --fingerprint, so nothing was sent to it: its SHA-256 is %s", fingerprint)
			}
			return nil
		}
	}
	if pinned := strings.ToLower(strings.ReplaceAll(f.fingerprint, ":", "")); pinned != "" {
		return func(_, fingerprint string) error {
			if fingerprint != pinned {
				return realm.ErrFingerprint
			}
			return nil
		}
	}
	known := knownServers{cmp.Or(f.known, defaultKnown()), func(text string) { fmt.Fprintln(w, text) }}
	return known.trust
}

// readTicket reads the ticket of the command line.
func (f *joinFlags) readTicket(dialect string) ([]byte, error) {
	switch ticket, err := hex.DecodeString(strings.TrimSpace(f.ticket)); {
	case f.ticket == "":
		return nil, nil
	case !line.HasSessions(dialect):
		return nil, fmt.Errorf("%s takes no ticket; leave out --ticket, or join replica, relay or duplex", dialect)
	case err != nil || len(ticket) == 0:
		return nil, fmt.Errorf("--ticket is not hex; give it as \"%s ticket make\" prints it", f.app.name)
	default:
		return ticket, nil
	}
}

// checkRoom looks at what the command line says of rooms. Without an account a name is part of the pass for a room.
func (f *joinFlags) checkRoom(dialect string) error {
	switch {
	case f.room != "" && dialect == "stamp":
		return errors.New("stamp has no rooms to choose from: the server says which it shows; leave out --room")
	case f.ticket != "" && (f.room != "" || f.name != ""):
		return errors.New("a ticket has its room and its name in it; leave out --room and --name")
	case f.name != "" && f.room == "" && line.HasSessions(dialect):
		f.room = message.MainRoom
	}
	return checkRoom(f.room)
}

// checkRoom refuses a name that no room can have.
func checkRoom(name string) error {
	if name != "" && !message.IsRoomName(name) {
		return fmt.Errorf("--room %q is no name of a room: it has 1 to %d of a-z, 0-9 and -", name, message.MaxRoomName)
	}
	return nil
}

// credentials asks for what realm wants to know.
func (f *joinFlags) credentials(cmd *cobra.Command, in *lineReader) (err error) {
	if f.name == "" {
		return errors.New("--name is missing; realm needs the name of an account")
	}
	f.password, err = f.passwords.ask(cmd, in, fmt.Sprintf("password of %s: ", f.name))
	return err
}

// joinSeat is who sits at the terminal.
type joinSeat struct {
	player    *bots.Player
	schema    *world.Schema
	game      world.Game
	mu        sync.Mutex
	out       io.Writer
	placeless bool          // nothing in the game is anywhere, so no player need have an entity
	joining   bool          // why it ended is the error of joining
	early     string        // it has ended before anybody sat down
	left      bool          // what ends now was ended by us
	away      bool          // the connection is lost, and the player is coming back
	over      chan struct{} // closed when somebody else has ended it
	news      chan struct{} // something in sight is new
}

// sit is called when the player has joined.
func (s *joinSeat) sit() {
	s.mu.Lock()
	s.joining = false
	early := s.early
	s.mu.Unlock()
	if early != "" {
		s.notice(bots.Notice{Kind: bots.Ended, Text: early})
	}
}

// arrive waits until the player sees itself: what it did before would be lost, as it is in no
// game yet.
func (s *joinSeat) arrive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	for {
		here := s.placeless
		if !here {
			s.player.See(func(v *bots.Sight) { _, here = v.Things[v.You] })
		}
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
func (s *joinSeat) notice(n bots.Notice) {
	switch n.Kind {
	case bots.Updated:
		select {
		case s.news <- struct{}{}:
		default:
		}
	case bots.Said:
		s.print("%s: %s", cmp.Or(plain.Text(n.Name), "somebody"), plain.Text(n.Text))
	case bots.Away:
		s.setAway(true)
		s.print("connection lost, coming back … (%s)", plain.Text(n.Text))
	case bots.Back:
		s.setAway(false)
		s.print("%s", backLine(n))
	case bots.Ended:
		s.mu.Lock()
		told := !s.joining && !s.left
		switch {
		case s.joining:
			s.early = n.Text
		case told:
			close(s.over)
		}
		text := plain.Text(n.Text)
		if s.away {
			text = "could not come back: " + text
		}
		s.mu.Unlock()
		if told {
			s.print("%s", text)
		}
	}
}

func (s *joinSeat) setAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// backLine says how a player is back. A spectator is nobody else than before.
func backLine(n bots.Notice) string {
	took := latency(n.Absence)
	if n.Same || n.Text == "stamp" {
		return fmt.Sprintf("back after %s", took)
	}
	return fmt.Sprintf("back after %s, as a new player: the server did not hold your place", took)
}

// leave says that we go, and reports whether the connection was over before.
func (s *joinSeat) leave() (over bool) {
	s.mu.Lock()
	s.left = true
	s.mu.Unlock()
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// play reads commands until there are no more, or the connection is over.
func (s *joinSeat) play(ctx context.Context, in *lineReader) {
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
		err = s.steer(angle, s.topSpeed()/2)
	case word == "x" && rest == "":
		err = s.steer(0, 0)
	case word == "walk":
		err = s.walk(rest)
	case line == "map":
		s.explore(ctx)
		s.print("%s", s.chart())
	case line == "who":
		s.print("%s", s.list())
	case line == "help":
		s.print("%s", s.help())
	case line == "quit" || line == "q":
		return false
	case actionOf(s.schema, word) != nil:
		err = s.act(actionOf(s.schema, word), rest)
	default:
		text := line
		if word == "say" {
			text = rest
		}
		err = s.player.Say(ctx, text)
	}
	if err != nil {
		s.print("that did not work: %s", sentence(err))
	}
	return true
}

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
func (s *joinSeat) topSpeed() (top float64) {
	s.player.See(func(v *bots.Sight) {
		if k := s.schema.Kind(v.Things[v.You].Kind); k != nil {
			top = k.MaxSpeed
		}
	})
	return top
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
	for _, a := range s.schema.Actions {
		list = append(list, usageOf(a))
	}
	return strings.Join(append(list, "map, who, say TEXT, quit"), ", ")
}

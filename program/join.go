package program

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"parley/client"
	"parley/play/bots"
	"parley/play/line"
	"parley/play/message"
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
	carrier        string // behind the dialect
	noResume       bool
	tickRate       int
	match          matchFlags
}

func (a *app) newJoin() *cobra.Command {
	f := joinFlags{app: a, match: matchFlags{app: a}}
	cmd := &cobra.Command{
		Use:   "join DIALECT[+CARRIER] [HOST:PORT]",
		Short: "Play " + a.title() + " from the terminal, over any dialect",
		Long: `Join plays the game from the terminal. Over stamp it only watches, as stamp has
spectators only.

In a terminal it is a full screen. The keys are these:

  arrows, w a s d  walk; x or space stops
  ` + a.keyHelp() + `
  Enter            speak, or after a / do one of the commands below
  + -              zoom
  q, Ctrl-C        leave

@ is you. Other bodies are the first letters of their kinds. A player's name and
health stand above it if the game tells them. The key of an action does it with
its angle towards the nearest body of your own kind, or straight on if there is
none. An action without an angle takes the nearest body as its entity. Other
parameters are 0.

If standard input or output is no terminal, it reads commands, one a line, and
prints what happens:

  w a s d        walk up, left, down, right; x stops
  walk 45 1.5    walk at an angle in degrees and a speed in cells a tick` + a.actionHelp() + `
  map            draw a map of what is in sight
  who            list what is in sight
  say hello      speak; a line that is no command is spoken too
  quit           leave

The first letter of an action is enough if nothing else begins with it.
Parameters that are left out are 0. An angle is in degrees.

Behind the dialect there may be what carries it, to the server's --play: +ws or
+wss for WebSocket, +wt for WebTransport.

Without an address, it joins the server on this machine at the dialect's usual
port. If the connection is lost, it comes back by itself as the same player, as
long as the server holds the place.

With --match it finds others who want to play the same mode. Two who say so in
two terminals meet in a room of their own.`,
		Example: `  parley join replica
  parley join duplex 127.0.0.1:7004 --room duel --name ada
  parley join realm game.example:9999 --name ada
  parley join replica+wss game.example:8000
  parley join --match duel --name ada
  parley join duplex --match race --players 4 --play http://game.example:8000
  parley join relay --ticket $(parley ticket make --key-file server.key)
  echo map | parley join relay`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && f.match.wanted(cmd):
			case len(args) == 0 || len(args) > 2:
				return fmt.Errorf("%q takes a dialect (%s) and, if you like, an address", cmd.CommandPath(), sentenceList(bots.Dialects, "or"))
			case !line.IsDialect(f.split(args[0])):
				return fmt.Errorf("there is no dialect %q; there are %s", args[0], sentenceList(bots.Dialects, "and"))
			}
			return nil
		},
		ValidArgs: bots.Dialects,
		RunE:      func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "the name that you want; realm, which needs one: that of your account, which is registered if it does not exist")
	flags.StringVar(&f.room, "room", "", "the room to enter; without it, the room main")
	flags.BoolVar(&f.noResume, "no-resume", false, "do not come back when the connection is lost")
	flags.StringVar(&f.fingerprint, "fingerprint", "", "realm: accept only the certificate with this SHA-256, in hex; without it, one that an authority of the system vouches for, or else the one that was seen first")
	flags.StringVar(&f.known, "known-servers", "", "realm: the file of the certificates that were seen first (default "+defaultKnownText+")")
	flags.BoolVar(&f.plain, "realm-plain", false, "realm: connect without TLS")
	a.profileFlag(cmd, &f.profile, "realm: the --realm-profile of the server, plain or miko")
	flags.BoolVar(&f.passwords.stdin, "password-stdin", false, "realm: read the password from the first line of standard input")
	flags.StringVar(&f.ticket, "ticket", "", "replica, relay and duplex: a ticket in hex, as parley ticket make prints it; it can be used once")
	flags.IntVar(&f.tickRate, "tick-rate", defaultTickRate, "realm and stamp: the --tick-rate of the server, which they do not tell")
	f.match.register(cmd)
	return cmd
}

func (f *joinFlags) run(cmd *cobra.Command, args []string) error {
	if len(args) == 0 { // a match, for which any dialect that takes tickets will do
		args = []string{"replica"}
	}
	dialect := f.split(args[0])
	switch {
	case f.carrier == "" && strings.Contains(args[0], "+"), f.carrier != "" && !slices.Contains(line.Carriers, f.carrier):
		return fmt.Errorf("%q: behind + is what carries the dialect: %s", args[0], sentenceList(line.Carriers, "or"))
	case f.carrier != "" && f.match.wanted(cmd):
		return fmt.Errorf("a match says where the game is, over UDP and TCP; leave out +%s", f.carrier)
	}
	usual := "127.0.0.1:" + line.PortOf(dialect, f.carrier)
	addr := usual
	if len(args) == 2 {
		addr = args[1]
	}
	if err := f.match.check(cmd, f, dialect); err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return fmt.Errorf("%q is not an address; write host:port, such as %s", addr, usual)
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
	c := client.Config{
		Name: name, Password: f.password, Room: f.room, Ticket: ticket, NoReturn: f.noResume, Trust: f.trust(cmd.ErrOrStderr()), Authorities: f.authorities(), Plain: f.plain,
		TickRate: cmp.Or(profile.tickRate, f.tickRate), FirstType: profile.firstType, RealmFields: profile.fields,
	}
	if tty, out, ok := terminal(cmd); ok {
		return f.playScreen(stopped, cmd, tty, out, dialect, addr, profile.game, c)
	}
	return f.playLines(stopped, cmd, in, dialect, addr, profile.game, c)
}

// split takes what carries the dialect from the first word of the command line, and returns the dialect.
func (f *joinFlags) split(text string) (dialect string) {
	dialect, f.carrier, _ = strings.Cut(text, "+")
	return dialect
}

// scheme returns the dialect as an address has it.
func (f *joinFlags) scheme(dialect string) string {
	if f.carrier == "" {
		return dialect
	}
	return dialect + "+" + f.carrier
}

// dial joins the game. player is nil without an error if the user has interrupted it.
func dial(ctx context.Context, dialect, addr string, game world.Game, c client.Config) (player *client.Client, err error) {
	dialing, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	player, err = client.Dial(dialing, dialect+"://"+addr, game, c)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			player.Close()
		}
		return nil, nil
	case errors.Is(err, context.DeadlineExceeded):
		return nil, failure{fmt.Errorf("cannot join %s at %s: it did not let you in within %v; try again", dialect, addr, joinPatience)}
	case err != nil:
		return nil, failure{fmt.Errorf("cannot join %s at %s: %s", dialect, addr, strings.TrimPrefix(err.Error(), "client: "))}
	}
	return player, nil
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
	known := knownServers{cmp.Or(f.known, defaultKnown()), func(text string) { fmt.Fprintln(w, text) }}
	return known.trust
}

// authorities are those whose word for a server's name is enough: those of the system, unless a certificate is pinned. A server's next
// certificate is then as good as the one before.
func (f *joinFlags) authorities() *x509.CertPool {
	if f.fingerprint != "" {
		return x509.NewCertPool() // nobody's word counts
	}
	if f.app.authorities != nil {
		return f.app.authorities
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil // the certificates that were seen first count
	}
	return pool
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

package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	front "parley"
	"parley/web"
)

// serveFlags are what the command line, the environment and the file say.
type serveFlags struct {
	app                                                  *app
	config                                               string
	replica, stamp, relay, duplex, realm, realmTime, web string
	data, postgres                                       string
	relayLobby, realmProfile                             string
	realmPlain                                           bool
	webHosts                                             string
	relayUnproven, realmTimeForAll                       bool
	tickRate, maxPlayers, maxRooms, perAddress           int
	registrations, failures                              int
	sight                                                float64
	seed                                                 uint64
	mode, stampRoom, mainAccounts                        string
	hold                                                 time.Duration
	keep                                                 string
	keepHistory                                          bool
	record, readyFile                                    string
	recordOver                                           bool
	ticketKey                                            string
	logLevel                                             string
	play                                                 playFlags
	tls                                                  tlsFlags
	cluster                                              clusterFlags
	certificate                                          *certificate // nil: the operator has given none
}

func (a *app) newServe() *cobra.Command {
	f := serveFlags{app: a}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve " + a.title() + " to players of all five dialects",
		Long: a.serveText() + `

Each dialect has an address, host:port. Port 0 picks a free port, and off turns
the dialect off. Rooms, accounts and realm's certificate are kept in the folder
--data. A server that is started again goes on where it was.

Each flag can also be set in the environment (PARLEY_TICK_RATE is --tick-rate)
or in a TOML file (--config), with lines such as tick-rate = 30. The command
line overrides the environment, and the environment overrides the file. A
variable PARLEY_… that names no flag is ignored, with a warning.`,
		Example: `  parley serve
  parley serve --realm off --data /var/lib/parley
  parley serve --replica 127.0.0.1:0 --ready-file ready.json
  parley serve --record game.rec && parley replay game.rec`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFlags(cmd, f.config); err != nil {
				return err
			}
			if f.ticketKey != "" && !cmd.Flags().Changed("stamp") {
				f.stamp = front.Off // its spectators show no ticket
			}
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "a TOML file with values for the other flags")
	flags.StringVar(&f.replica, "replica", ":7000", "where replica listens (UDP)")
	flags.StringVar(&f.stamp, "stamp", ":7001", "where stamp listens (UDP)")
	flags.StringVar(&f.relay, "relay", ":8082", "where relay listens (UDP)")
	flags.StringVar(&f.duplex, "duplex", ":7004", "where duplex listens (TCP and UDP)")
	flags.StringVar(&f.realm, "realm", ":9999", "where realm listens (TCP)")
	flags.StringVar(&f.realmTime, "realm-time", ":9998", "where realm's time server listens (UDP)")
	flags.StringVar(&f.web, "web", "127.0.0.1:8080", "where the operator's page, /metrics and the operator's API are served (TCP)")
	flags.StringVar(&f.webHosts, "web-hosts", "", "host names under which the operator's page and the API may be asked for, as a.example,b.example")
	f.play.register(cmd)
	f.tls.register(cmd)
	f.cluster.register(cmd)
	flags.StringVar(&f.data, "data", defaultData, "the folder of rooms, accounts, bans, used tickets, realm's certificate and the operator's token")
	flags.StringVar(&f.postgres, "postgres", "", "keep accounts in this PostgreSQL database instead: a URL, or key=value pairs")
	flags.StringVar(&f.relayLobby, "relay-lobby", "open", "open: relay's clients play in the world; connector: they play their own game through the server")
	flags.BoolVar(&f.relayUnproven, "relay-unproven", false, "relay lets in addresses that may be forged; for trusted networks only")
	a.profileFlag(cmd, &f.realmProfile, "the kind of client that realm serves: plain, or miko, an existing game")
	flags.BoolVar(&f.realmPlain, "realm-plain", false, "realm without TLS, for use behind a proxy that does TLS")
	flags.BoolVar(&f.realmTimeForAll, "realm-time-for-all", false, "realm's time server also answers addresses without a connection")
	flags.IntVar(&f.registrations, "registrations", 3, "attempts to register a minute from each address; -1 is no limit")
	flags.IntVar(&f.failures, "login-failures", 5, "failed log-ins a minute from each address and for each name; -1 is no limit")
	flags.IntVar(&f.tickRate, "tick-rate", defaultTickRate, "ticks a second, 1 to 1000")
	flags.IntVar(&f.maxPlayers, "max-players", 1000, "most players, of all rooms and dialects together")
	flags.IntVar(&f.maxRooms, "max-rooms", 1000, "most rooms, the room main included")
	flags.IntVar(&f.perAddress, "per-address", 256, "most players and spectators from one address, of all dialects together; -1 is no limit")
	flags.Float64Var(&f.sight, "sight", 128, "how far players see, in cells; below 0 they see everything")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of the room main; 0 picks one at random")
	flags.StringVar(&f.keep, "keep", "second", "when rooms are on disk, so that the server can be restarted: off, second (synced once a second) or tick (synced before anyone is told)")
	flags.BoolVar(&f.keepHistory, "keep-history", false, "keep the whole log of each room, also of those that have ended")
	flags.DurationVar(&f.hold, "hold", 30*time.Second, "how long the place of a player is held whose connection is lost; 0 is off")
	flags.StringVar(&f.stampRoom, "stamp-room", front.MainRoom, "the room that spectators of stamp watch")
	flags.StringVar(&f.mainAccounts, "main-accounts", "on", "off: with --ticket-key-file, accounts of realm do not enter the room main")
	flags.StringVar(&f.mode, "mode", "", "the mode of the room main, a text that the game reads")
	flags.StringVar(&f.record, "record", "", "record the room main to this file, for parley replay; an earlier recording there is kept as FILE.1, FILE.2 and so on")
	flags.BoolVar(&f.recordOver, "record-over", false, "--record writes over the file if it exists")
	flags.StringVar(&f.readyFile, "ready-file", "", "write the addresses to this file, as JSON, when all dialects listen")
	flags.StringVar(&f.ticketKey, "ticket-key-file", "", "let in players of replica, relay and duplex only with a ticket that is signed with this key; stamp is then off unless --stamp is given")
	offer(cmd, "keep", "off", "second", "tick")
	offer(cmd, "main-accounts", "on", "off")
	offer(cmd, "relay-lobby", "open", "connector")
	flags.StringVar(&f.logLevel, "log-level", "info", "least level that is logged: debug, info, warn or error")
	offer(cmd, "log-level", "debug", "info", "warn", "error")
	return cmd
}

// serveText is what serve does, in a paragraph.
func (a *app) serveText() string {
	if a.isArena() {
		return `Serve runs the arena, a game that players of all five dialects share: they walk
among walls, throw balls, are hit, lose health and come back. It needs no
set-up.`
	}
	return fmt.Sprintf("Serve runs %s.\nPlayers of all five dialects share it. It needs no set-up.", a.title())
}

// offer has shells offer the values of a flag.
func offer(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func (f *serveFlags) run(cmd *cobra.Command) error {
	words := &heldWords{w: cmd.ErrOrStderr()}
	words.open.Store(f.logLevel == "debug")
	log, err := f.logger(words)
	if err != nil {
		return err
	}
	for _, name := range strayVariables(cmd, os.Environ()) {
		log.Warn("this variable names no flag and is ignored; see "+cmd.CommandPath()+" --help", "variable", name)
	}
	game, config, done, err := f.serverConfig(cmd.Context(), log)
	if err != nil {
		return err
	}
	started := false
	defer func() { done(started) }()
	defer f.play.closePage()
	defer f.play.closeWT()
	if f.cluster.node != nil {
		if there, err := f.cluster.wait(cmd); !there {
			return err
		}
	}
	server, err := f.start(game, config)
	for isOther(err) && f.cluster.node != nil {
		if !f.cluster.waitForRoom(cmd, err) {
			return nil
		}
		server, err = f.start(game, config)
	}
	if err != nil {
		return err
	}
	stopped, stop := signal.NotifyContext(cmd.Context(), stopSignals()...)
	defer stop()
	page, err := f.page(server)
	if err != nil {
		server.Close()
		return advise(err)
	}
	play, err := f.play.listen(server, game, config, f.certificate)
	if err != nil {
		closePages(page)
		server.Close()
		return advise(err)
	}
	if f.certificate != nil {
		f.certificate.start()
	}
	addrs := server.Addrs()
	if play != nil {
		addrs = append(addrs, front.Addr{Name: "play", Addr: play.Addr()})
	}
	if page != nil {
		addrs = append(addrs, front.Addr{Name: "web", Addr: page.Addr()})
	}
	if err := f.ready(addrs); err != nil {
		closePages(page, play)
		server.Close()
		return err
	}
	if f.cluster.node != nil {
		told := addrs
		if wt := f.play.webTransport(); wt != nil {
			told = append(slices.Clone(addrs), front.Addr{Name: "wt", Addr: wt.Addr()})
		}
		defer f.cluster.tell(server, told)()
	}
	started = true
	words.release()
	say(cmd.OutOrStdout(), f.app.startTable(addrs, f.certificate != nil, f.mainSeed(server, config), append(f.places(), troubles(server.Trouble())...))+"\n")
	select {
	case <-stopped.Done():
		stop() // an operator who cannot wait until every player has heard interrupts again
		f.cluster.drain(server, cmd.OutOrStdout())
		say(cmd.OutOrStdout(), "closing: every player is told\n")
	case <-f.cluster.leave:
		stop()
		f.cluster.drain(server, cmd.OutOrStdout())
		say(cmd.OutOrStdout(), "closing, as an operator has asked\n")
	case <-server.Done():
	}
	f.unready()
	closePages(page, play)
	if err := server.Close(); err != nil {
		return failure{err}
	}
	return nil
}

// closePages ends the pages that there are. Clients that wait for an answer have a second.
func closePages(list ...*web.Page) {
	late, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, p := range list {
		if p != nil {
			p.Close(late)
		}
	}
}

// stopSignals are what ends the server in good order. A terminal that closes hangs up; with nohup
// that is no reason to stop.
func stopSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

func (f *serveFlags) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level must be debug, info, warn or error, not %q", f.logLevel)
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})), nil
}

// start starts the game. What is the user's to put right is a usage error, in one sentence.
func (f *serveFlags) start(game front.Game, c front.Config) (*front.Server, error) {
	server, err := front.Start(game, c)
	if err != nil {
		return nil, advise(err)
	}
	return server, nil
}

// advise tells what to do about an error that does not say so itself.
func advise(err error) error {
	file := (*fs.PathError)(nil)
	switch {
	case strings.Contains(err.Error(), "; choose "):
		return err
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w; choose another port (0 lets the system pick one), or off", err)
	case errors.As(err, &file):
		return fmt.Errorf("%w; choose a --data folder that you may write to", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; choose a port above 1023", err)
	}
	return err
}

// page serves the operator's page and the operator's API, unless they are off.
func (f *serveFlags) page(s *front.Server) (*web.Page, error) {
	if f.web == front.Off {
		return nil, nil
	}
	c := web.Config{Title: f.app.name + ": " + cmp.Or(f.app.game.Name, "a game"), Stats: func() any { return f.counters(s) }, Addrs: map[string]string{}, Hosts: splitList(f.webHosts), Log: s.Log()}
	for _, a := range s.Addrs() {
		c.Addrs[a.Name] = a.Addr.String()
	}
	c.Ready = func() error {
		select {
		case <-s.Done():
			return front.ErrClosed
		default:
			return errors.Join(s.Trouble(), f.cluster.trouble())
		}
	}
	if err := f.operate(&c, s); err != nil {
		return nil, err
	}
	page, err := web.Listen(f.web, c)
	if wrong := (*net.AddrError)(nil); errors.As(err, &wrong) {
		err = fmt.Errorf("--web: %s: %s; write host:port, such as 127.0.0.1:8080, or off", wrong.Addr, wrong.Err)
	}
	return page, err
}

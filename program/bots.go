package program

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"parley/play/bots"
	"parley/play/line"
)

// botsFlags are what the command line says.
type botsFlags struct {
	app       *app
	count     int
	mix       string
	host      string
	readyFile string
	runFor    time.Duration
	seed      uint64
	plain     bool
	profile   string
	tickRate  int
	carrier   string
	ticketKey string
	tickets   []string // in hex
	name      string
	room      string
	noResume  bool
	asJSON    bool
}

func (a *app) newBots() *cobra.Command {
	f := botsFlags{app: a}
	cmd := &cobra.Command{
		Use:   "bots",
		Short: "Fill a server with bots that walk, act and chat, and measure it",
		Long: `Bots join a server over the dialects that you choose, walk about, do actions of
the game by chance and chat. At the end a table has a line for each dialect:

  connected   bots that joined
  updates     updates of the world that they got
  steered     directions that they asked for
  seen        directions that they then saw themselves take
  said        chat lines that they sent
  heard       chat lines of their own that came back
  p50, p99    time from steered to seen: the input latency of a player
  errors      bots that could not join or were cut off; the exit status is 1

The latency is the way there and back, the tick, and the wait for the tick,
which is half a tick on average.

Bots whose connection is lost come back by themselves, with the session that the
server told them: as the same player, or as a new one if the server no longer
holds their place. If there were any, a second table has:

  away        how often a connection was lost
  same        how often a bot came back as the same player; over realm, how
              often its account was let in again
  new         how often as a new one
  refused     bots that were not let back in, which are errors too
  p50, max    how long those that came back had seen nothing new

Bots are called bot-DIALECT-NUMBER, or NAME-NUMBER with --name. Those of realm
register accounts, called bot-SEED-NUMBER or NAME-NUMBER. By default a server
allows three registrations a minute from an address. For more, start it with
--registrations -1.`,
		Example: `  parley bots -n 100
  parley bots --mix replica=40,realm=10 --for 1m
  parley bots --room duel --for 5m
  parley bots --carrier ws -n 100
  parley bots --ticket-key-file server.key
  parley bots --ticket $(parley ticket make --key-file server.key --name ada)
  parley serve --ready-file ready.json & parley bots --ready-file ready.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	// Fifteen have three of realm's, as many as a server registers in a minute.
	flags.IntVarP(&f.count, "count", "n", 15, "number of bots, in equal shares of all dialects")
	flags.StringVar(&f.mix, "mix", "", "number of bots of each dialect, as replica=10,duplex=5, instead of --count")
	flags.StringVar(&f.host, "host", "127.0.0.1", "host of the server, which has the usual ports")
	flags.StringVar(&f.readyFile, "ready-file", "", "the file that parley serve --ready-file writes: take the addresses from it, and wait for it if it is missing")
	flags.DurationVar(&f.runFor, "for", 10*time.Second, "how long the bots play")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the random choices of the bots; also part of their names")
	flags.StringVar(&f.carrier, "carrier", "udp", "what carries the dialects: udp (with TCP, as the dialects have it), or to the server's --play ws, wss or wt")
	flags.BoolVar(&f.plain, "realm-plain", false, "realm: connect without TLS")
	a.profileFlag(cmd, &f.profile, "realm: the --realm-profile of the server, plain or miko")
	flags.IntVar(&f.tickRate, "tick-rate", defaultTickRate, "realm: the --tick-rate of the server, which realm does not tell")
	flags.StringVar(&f.ticketKey, "ticket-key-file", "", "the key of the server: bots of replica, relay and duplex show a ticket that is signed with it, and stamp has no bots unless --mix names it")
	flags.StringSliceVar(&f.tickets, "ticket", nil, "replica, relay and duplex: a ticket in hex for each bot, as parley ticket make prints it; give the flag once for each, or a list with commas")
	flags.StringVar(&f.room, "room", "", "the room to enter; without it, the room main")
	flags.StringVar(&f.name, "name", "", "the name of the bots, before a number; realm: that of their accounts (default bot-SEED)")
	flags.BoolVar(&f.noResume, "no-resume", false, "bots whose connection is lost do not come back")
	flags.BoolVar(&f.asJSON, "json", false, "print the results as JSON")
	return cmd
}

func (f *botsFlags) run(cmd *cobra.Command) error {
	if f.runFor <= 0 {
		return fmt.Errorf("--for must be a time above 0, such as 30s, not %v", f.runFor)
	}
	if f.carrier != "udp" && !slices.Contains(line.Carriers, f.carrier) {
		return fmt.Errorf("--carrier %q: write udp, %s", f.carrier, sentenceList(line.Carriers, "or"))
	}
	stopped, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	addrs, err := f.addrs(stopped)
	if err != nil {
		return err
	}
	if err := f.checkPass(cmd.Flags().Changed("count")); err != nil {
		return err
	}
	counts, total, err := f.shares(addrs)
	if err != nil {
		return err
	}
	profile, err := f.app.profile(f.profile)
	if err != nil {
		return err
	}
	ticket, err := f.pass(counts)
	if err != nil {
		return err
	}
	schema, err := f.app.game.Schema()
	if err != nil {
		return failure{err}
	}
	bars := newBotBars(cmd.ErrOrStderr(), total, f.runFor, f.asJSON)
	ctx, cancel := context.WithTimeout(stopped, f.runFor)
	defer cancel()
	go bars.clock(ctx)
	config := bots.Config{
		Schema: schema, Game: f.app.game.Name, Room: f.room, Plain: f.plain, RealmConfig: profile.fields, FirstType: profile.firstType, TickRate: cmp.Or(profile.tickRate, f.tickRate), Pace: profile.walksByTicks,
		Resume: line.Resume{On: !f.noResume, Anew: true},
	}
	if f.carrier != "udp" {
		config.Carrier = f.carrier
		config.Trust = func(string, string) error { return nil } // bots have no secrets: as over realm's own port
	}
	crowd := bots.Crowd{
		Addrs: addrs, Bots: counts, Seed: f.seed, Name: f.name, Ticket: ticket, Joined: bars.joined, Config: config,
	}
	list := crowd.Run(ctx)
	cancel()
	bars.wait()
	return f.print(cmd.OutOrStdout(), list)
}

// addrs returns where each dialect is.
func (f *botsFlags) addrs(ctx context.Context) (map[string]string, error) {
	list := map[string]string{}
	if f.readyFile == "" {
		carrier := f.carrier
		if carrier == "udp" {
			carrier = ""
		}
		for _, dialect := range line.Dialects {
			list[dialect] = net.JoinHostPort(f.host, line.PortOf(dialect, carrier))
		}
		return list, nil
	}
	text, err := awaitFile(ctx, f.readyFile)
	if err != nil {
		return nil, fmt.Errorf("--ready-file: %w; start the server with the same flag first", err)
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("--ready-file: %s was not written by %s serve: %w", f.readyFile, f.app.name, err)
	}
	play := list["play"]
	for name, addr := range list {
		if f.carrier != "udp" && line.IsDialect(name) {
			if addr = play; addr == "" {
				return nil, fmt.Errorf("--carrier %s: the server of %s has no --play; leave it out", f.carrier, f.readyFile)
			}
		}
		list[name] = reachable(addr)
	}
	return list, nil
}

// readyPatience is how long the bots wait for the server to be ready: it may be starting.
var readyPatience = 5 * time.Second

// awaitFile reads a file, and waits for it if it is not there yet.
func awaitFile(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		text, err := os.ReadFile(name)
		if !errors.Is(err, fs.ErrNotExist) {
			return text, err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// reachable turns an address that stands for all of a machine's into its own.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

func (f *botsFlags) print(w io.Writer, list []bots.Result) error {
	if f.asJSON {
		if err := printJSON(w, list); err != nil {
			return err
		}
	} else {
		t := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.AlignRight) // 80 columns hold it
		fmt.Fprintln(t, "dialect\tbots\tconnected\tupdates\tsteered\tseen\tsaid\theard\tp50\tp99\terrors\t")
		for _, r := range list {
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%d\t\n", r.Dialect, r.Bots, r.Connected, r.Updates, r.Steered, r.Seen, r.Said, r.Heard,
				latency(r.P50), latency(r.P99), r.Errors)
		}
		t.Flush()
		printAbsences(w, list)
	}
	for _, r := range list {
		if r.Errors > 0 {
			return failure{fmt.Errorf("%d of %d bots of %s had errors, such as: %s", r.Errors, r.Bots, r.Dialect, r.Error)}
		}
	}
	return nil
}

// printAbsences prints who was away, if anybody was.
func printAbsences(w io.Writer, list []bots.Result) {
	if !slices.ContainsFunc(list, func(r bots.Result) bool { return r.Away > 0 }) {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "dialect\taway\tsame\tnew\trefused\tp50\tmax\t")
	for _, r := range list {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t\n", r.Dialect, r.Away, r.Same, r.Anew, r.Refused, latency(r.AwayP50), latency(r.AwayMax))
	}
	t.Flush()
}

// latency writes a time with three digits or so; one that was not measured is not 0.
func latency(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// botBars are the progress bars: who has joined, and how long they have played.
type botBars struct {
	progress   *mpb.Progress
	join, play *mpb.Bar
	length     time.Duration
}

func newBotBars(w io.Writer, bots int, length time.Duration, silent bool) *botBars {
	if silent || !isTerminal(w) {
		w = io.Discard
	}
	p := mpb.New(mpb.WithOutput(w), mpb.WithWidth(48))
	bar := func(total int64, name string, unit decor.Decorator) *mpb.Bar {
		return p.AddBar(total, mpb.PrependDecorators(decor.Name(name, decor.WC{W: 8})), mpb.AppendDecorators(unit))
	}
	return &botBars{
		progress: p, length: length,
		join: bar(int64(bots), "joined", decor.CountersNoUnit("%d of %d")),
		play: bar(length.Milliseconds(), "played", decor.Percentage()),
	}
}

func (b *botBars) joined() { b.join.Increment() }

// clock moves the second bar until ctx ends.
func (b *botBars) clock(ctx context.Context) {
	begin := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.play.SetCurrent(min(time.Since(begin), b.length).Milliseconds())
		}
	}
}

// wait ends the bars, full or not.
func (b *botBars) wait() {
	b.join.Abort(false)
	b.play.Abort(false)
	b.progress.Wait()
}

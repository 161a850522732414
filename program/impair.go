package program

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"parley/program/impair"
	"parley/simnet"
)

// impairFlags are what the command line says of a network.
type impairFlags struct {
	listen, to        string
	udp, tcp          bool
	profile, up, down string
	loss, duplicate   string
	reorder, corrupt  string
	delay, jitter     time.Duration
	reorderBy         time.Duration
	rate              string
	queue             time.Duration
	seed              uint64
	runFor, every     time.Duration
	asJSON            bool
	changed           func(name string) bool
}

func (a *app) newImpair() *cobra.Command {
	var f impairFlags
	cmd := &cobra.Command{
		Use:   "impair --to HOST:PORT [flags]",
		Short: "Simulate a bad network between clients and a server",
		Long: `Impair is a proxy that simulates a bad network. It forwards the traffic between
clients and a server, and loses, delays, duplicates, reorders, damages and slows
down packets.

--profile is a name (` + sentenceList(simnet.Names(), "or") + `), words
such as "delay=25ms loss=5% rate=400k queue=200ms", or a name and words that
change it. --up and --down replace it for one direction. The flags for single
properties, such as --loss, override all three. All figures are for one
direction.

With --rate, packets wait in a queue. UDP packets that would wait longer than
--queue are dropped. TCP loses no bytes: the proxy stops reading, so that the
sender has to wait.

Impair runs until it is interrupted, or for the time --for. Then it prints what
became of the packets, and how late the proxy itself was. Do not trust a run in
which the proxy was later than matters to you.`,
		Example: `  parley impair --to 127.0.0.1:7000 --loss 5% --delay 25ms --jitter 5ms
  parley impair --to 127.0.0.1:7000 --listen :9000 --profile 4g
  parley impair --to 127.0.0.1:7000 --rate 400k --queue 200ms --delay 20ms
  parley impair --to 127.0.0.1:7004 --udp --tcp --profile "wifi loss=0.1"
  parley impair --to 127.0.0.1:7000 --up delay=10ms --down "delay=80ms loss=0.1"`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "address for clients, host:port; port 0 picks a free port")
	flags.StringVar(&f.to, "to", "", "address of the server, host:port (required)")
	flags.BoolVar(&f.udp, "udp", false, "forward UDP (the default without --tcp)")
	flags.BoolVar(&f.tcp, "tcp", false, "forward TCP")
	flags.StringVar(&f.profile, "profile", "perfect", "both directions: a name, words, or a name and words")
	flags.StringVar(&f.up, "up", "", "the direction to the server, instead of --profile")
	flags.StringVar(&f.down, "down", "", "the direction to the clients, instead of --profile")
	flags.StringVar(&f.loss, "loss", "0", "share of packets that are lost, as 0.05 or 5%")
	flags.DurationVar(&f.delay, "delay", 0, "delay of each packet")
	flags.DurationVar(&f.jitter, "jitter", 0, "random further delay, from 0 to this")
	flags.StringVar(&f.duplicate, "duplicate", "0", "share of packets that arrive twice")
	flags.StringVar(&f.reorder, "reorder", "0", "share of packets that are held back, so that others overtake them")
	flags.DurationVar(&f.reorderBy, "reorder-by", 20*time.Millisecond, "longest time that they are held back")
	flags.StringVar(&f.corrupt, "corrupt", "0", "share of packets that arrive with flipped bits")
	flags.StringVar(&f.rate, "rate", "0", "bandwidth in bits a second, as 400k, 1.5M or 2000000; 0 is no limit")
	flags.DurationVar(&f.queue, "queue", simnet.DefaultQueue, "longest wait in the queue before the bandwidth; 0 is no queue")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the random choices")
	flags.DurationVar(&f.runFor, "for", 0, "stop after this time; 0 runs until interrupted")
	flags.DurationVar(&f.every, "every", 0, "print the counters this often; 0 prints them only at the end")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON, one object a line")
	return cmd
}

func (f *impairFlags) run(cmd *cobra.Command) error {
	if f.to == "" {
		return fmt.Errorf("--to is missing; give the address of the server, such as --to 127.0.0.1:7000")
	}
	if f.runFor < 0 || f.every < 0 {
		return fmt.Errorf("--for is %v and --every is %v; give times such as 30s, or 0", f.runFor, f.every)
	}
	config := impair.Config{Listen: f.listen, Target: f.to, UDP: f.udp, TCP: f.tcp, Seed: f.seed}
	var err error
	if config.Up, err = f.network("up", f.up); err != nil {
		return err
	}
	if config.Down, err = f.network("down", f.down); err != nil {
		return err
	}
	stopped, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	proxy, err := impair.Start(config)
	if err != nil {
		return err
	}
	defer proxy.Close()
	f.say(cmd.OutOrStdout(), impairStart{"listening", proxy.Addr().String(), f.to, config.Up.String(), config.Down.String()})

	var over, tick <-chan time.Time
	if f.runFor > 0 {
		over = time.After(f.runFor)
	}
	if f.every > 0 {
		ticker := time.NewTicker(f.every)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-tick:
			f.say(cmd.OutOrStdout(), newImpairReport("running", proxy.Stats()))
			continue
		case <-over:
		case <-stopped.Done():
		}
		f.say(cmd.OutOrStdout(), newImpairReport("done", proxy.Stats()))
		return nil
	}
}

// network returns the profile of one way: the shared words or its own, changed by the
// flags.
func (f *impairFlags) network(flag, own string) (simnet.Profile, error) {
	text, name := f.profile, "profile"
	if f.changed(flag) {
		text, name = own, flag
	}
	p, err := simnet.ParseProfile(text)
	if err != nil {
		return p, fmt.Errorf("--%s: %w", name, err)
	}
	for _, s := range []struct{ flag, word, value string }{
		{"loss", "loss", f.loss}, {"duplicate", "dup", f.duplicate}, {"corrupt", "corrupt", f.corrupt},
		{"delay", "delay", f.delay.String()}, {"jitter", "jitter", f.jitter.String()},
		{"rate", "rate", f.rate}, {"queue", "queue", f.queue.String()},
	} {
		if !f.changed(s.flag) {
			continue
		}
		if err := p.Set(s.word, s.value); err != nil {
			return p, fmt.Errorf("--%s %q: %w", s.flag, s.value, err)
		}
	}
	if f.changed("reorder-by") {
		p.ReorderBy = f.reorderBy
	}
	if f.changed("reorder") {
		if err := p.Set("reorder", f.reorder+"/"+f.reorderBy.String()); err != nil {
			return p, fmt.Errorf("--reorder %q and --reorder-by %v: give a share, such as 0.05 or 5%%, and a time, such as 20ms", f.reorder, f.reorderBy)
		}
	}
	if p.Rate > 0 && p.Queue == 0 {
		p.Queue = simnet.DefaultQueue // so that the first line shows it
	}
	return p, p.Validate()
}

// say prints a line for people, or one of JSON.
func (f *impairFlags) say(w io.Writer, v fmt.Stringer) {
	if !f.asJSON {
		fmt.Fprintln(w, v)
		return
	}
	printJSON(w, v)
}

// impairStart is the first line.
type impairStart struct {
	State  string `json:"state"`
	Listen string `json:"listen"`
	To     string `json:"to"`
	Up     string `json:"up"`
	Down   string `json:"down"`
}

func (s impairStart) String() string {
	return fmt.Sprintf("%s forwards to %s\n  up    %s\n  down  %s", s.Listen, s.To, s.Up, s.Down)
}

// impairReport is what happened so far.
type impairReport struct {
	State   string       `json:"state"`
	Clients int          `json:"clients"`
	Refused uint64       `json:"refused"`
	Up      simnet.Stats `json:"up"`
	Down    simnet.Stats `json:"down"`
	Delayed uint64       `json:"delayed_segments"`
	Held    uint64       `json:"held_back"`
	Dropped uint64       `json:"dropped_by_overflow"`
	Late    struct {
		P50US int64 `json:"p50_us"`
		P99US int64 `json:"p99_us"`
		MaxUS int64 `json:"max_us"`
	} `json:"late"`
	late impair.Lateness
}

func newImpairReport(state string, s impair.Stats) impairReport {
	r := impairReport{State: state, Clients: s.Clients, Refused: s.Refused, Up: s.Up, Down: s.Down, Delayed: s.Delayed, Held: s.Held, Dropped: s.Overflow, late: s.Late}
	r.Late.P50US = s.Late.Quantile(.5).Microseconds()
	r.Late.P99US = s.Late.Quantile(.99).Microseconds()
	r.Late.MaxUS = s.Late.Max().Microseconds()
	return r
}

func (r impairReport) String() string {
	way := func(name string, s simnet.Stats) string {
		return fmt.Sprintf("  %-5s %d in, %d lost, %d queue full, %d too big, %d doubled, %d held back, %d damaged, %d out",
			name, s.Sent, s.Lost+s.LostInBurst, s.QueueFull, s.TooBig, s.Duplicated, s.Reordered, s.Corrupted, s.Delivered)
	}
	lines := []string{
		fmt.Sprintf("clients: %d, refused: %d", r.Clients, r.Refused),
		way("up", r.Up), way("down", r.Down),
		"  late  " + r.late.String(),
	}
	if r.Delayed > 0 {
		lines = append(lines, fmt.Sprintf("  %d segments of TCP came late because of a loss", r.Delayed))
	}
	if r.Held > 0 {
		lines = append(lines, fmt.Sprintf("  %d times a full queue held the sender of a TCP stream back", r.Held))
	}
	if r.Dropped > 0 {
		lines = append(lines, fmt.Sprintf("  %d were dropped because the proxy held too much: lower the delay or the rate", r.Dropped))
	}
	return strings.Join(lines, "\n")
}

package nodes

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley"
	"parley/account"
	"parley/account/storetest"
	"parley/arena"
	"parley/cluster"
	"parley/internal/patient"
)

// childVariable makes this test binary, started again, a server in a process of its own: a childConfig in JSON.
const childVariable = "PARLEY_NODES_CHILD"

type childConfig struct {
	URLs                   []string // of an operator's NATS
	Listen, Advertise, Dir string   // of its own
	Peers                  []string
	Ports                  int  // the first of those of its dialects; 0 is any
	Counts                 bool // it plays the counting game, and tells all of it
	Alone                  bool // it has no cluster
	Sight                  float64
	TickRate               int
}

func TestMain(m *testing.M) {
	if what := os.Getenv(childVariable); what != "" {
		if err := serveChild(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	patient.Abreast("6")
	// nats.go leaves this behind if a snapshot is stored before the goroutine has begun: it takes up a channel that is gone.
	// A server of NATS leaves the other two behind if a stream is being made as it ends: see package cluster.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop"), goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"))
}

// childIs is what a child is, as it answers a line on its standard input.
type childIs struct {
	Sequences bool // it makes the entries of the room main
	Leads     bool // its server of NATS leads the stream of that room's log
	Seats     int
	CPU       time.Duration
	Trouble   string
	Stats     cluster.Stats
	P50, P99  time.Duration // of ticks
	Ticks     uint64
}

// serveChild serves until its standard input ends, or until SIGTERM, as parley serve does. It says where in a line of JSON. One that counts tells each tick that it runs, with
// the hash before it, and each line and step, with its place in the log.
func serveChild(what string) error {
	var c childConfig
	if err := json.Unmarshal([]byte(what), &c); err != nil {
		return err
	}
	level := slog.LevelInfo
	if (c.Counts || c.Alone || len(c.Peers) > 0) && os.Getenv("PARLEY_NODES_LOG") == "" {
		level = slog.LevelWarn
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	if c.Alone {
		return serveOn(&c, nil, log)
	}
	node, err := cluster.Start(cluster.Config{Name: "test", URLs: c.URLs, Listen: c.Listen, Advertise: c.Advertise, Peers: c.Peers, Dir: c.Dir, Log: log})
	if err != nil {
		return err
	}
	defer node.Close()
	return serveOn(&c, node, log)
}

// serveOn serves on a node, nil if the server is alone.
func serveOn(c *childConfig, node *cluster.Node, log *slog.Logger) error {
	data, err := os.MkdirTemp("", "nodes")
	if err != nil {
		return err
	}
	defer os.RemoveAll(data)
	at := func(i int) string {
		if c.Ports == 0 {
			return "127.0.0.1:0"
		}
		return fmt.Sprintf("127.0.0.1:%d", c.Ports+i)
	}
	game := arena.Game()
	if c.Counts {
		told := func(tick, hash uint64) { fmt.Fprintf(os.Stdout, "tick %d %016x\n", tick, hash) }
		game = countingGame(told)
	}
	config := parley.Config{Replica: at(0), Stamp: at(1), Relay: at(2), Duplex: at(3), Sight: cmp.Or(c.Sight, -1), TickRate: c.TickRate, DataDir: data, MaxPlayers: 4000, PerAddress: -1, Log: log}
	if c.Counts {
		config.Realm, config.RealmTime, config.Accounts = at(4), at(5), everyAccount
	}
	if node != nil {
		config.Cluster = parley.ClusterOf(node)
	}
	s, err := parley.Start(game, config)
	if err != nil {
		return err
	}
	defer s.Close()
	addrs := map[string]string{}
	for _, a := range s.Addrs() {
		addrs[a.Name] = a.Addr.String()
	}
	if node != nil {
		node.SetAbout(cluster.About{Name: c.Listen, Addrs: addrs})
	}
	text, _ := json.Marshal(addrs)
	fmt.Println(string(text))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if c.Counts {
		go tellEvents(ctx, s)
	}
	go answer(node, s, stop)
	select {
	case <-ctx.Done():
		if node == nil {
			return nil
		}
		empties, cancel := context.WithTimeout(context.Background(), drainTime)
		defer cancel()
		return s.Drain(empties, elsewhere(node))
	case <-s.Done():
	}
	return nil
}

// everyAccount is a store with the accounts of all players over realm, and of all the names that they may take. Those of all servers are the same, as
// that of a cluster is one.
func everyAccount(string) (account.Store, error) {
	hash, err := account.HashPassword(witnessPassword)
	store := new(storetest.Memory)
	for i := range 200 {
		for life := 1; life <= 200 && err == nil; life++ {
			name := fmt.Sprintf("realm-%d-%d", i, life)
			_, err = store.Create(context.Background(), account.Record{Account: account.Account{Name: name, Created: time.Now()}, Key: account.NameKey(name), Hash: hash})
		}
	}
	return store, err
}

// drainTime bounds a drain.
const drainTime = 20 * time.Second

// elsewhere returns where players find the other servers.
func elsewhere(node *cluster.Node) func(over string) []string {
	return func(over string) (list []string) {
		for _, other := range node.Nodes() {
			if at := other.Addrs[over]; at != "" && other.ID != node.ID() && !other.Draining {
				list = append(list, at)
			}
		}
		return list
	}
}

// tellEvents tells what is said and done, when it is final.
func tellEvents(ctx context.Context, s *parley.Server) {
	for ctx.Err() == nil {
		for ev, err := range s.Events(ctx, parley.MainRoom, parley.FromNow) {
			if err != nil {
				break
			}
			what := ""
			if ev.Kind == parley.Said {
				what = ev.Text
			} else if step, ok := parley.As[pace](ev); ok {
				what = stepOf(int(ev.Player), int(step.Nth))
			}
			if what != "" {
				fmt.Fprintf(os.Stdout, "event %d %d %s\n", ev.Place.Tick, ev.Place.Index, what)
			}
		}
	}
}

// answer answers lines of the standard input, and stops the server when that ends.
func answer(node *cluster.Node, s *parley.Server, stop func()) {
	defer stop()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		w := s.WorldStats()
		is := childIs{CPU: cpuTime(), Trouble: fmt.Sprint(s.Trouble()), P50: w.TickP50, P99: w.TickP99, Ticks: w.Ticks}
		if node != nil {
			is.Stats = node.Stats()
			is.Sequences = is.Stats.Sequences > 0
		}
		seats := w.Seats
		is.Seats = seats.Replica + seats.Relay + seats.Duplex + seats.Stamp + seats.Realm
		if in.Text() == "room" && node != nil {
			all, _ := node.Status(context.Background()) // what is not known is false
			for _, r := range all.Rooms {
				for _, st := range r.Stages {
					if st.Node == cluster.NodeName(node.ID()) {
						is.Sequences, is.Leads = st.Sequences, st.Leads
					}
				}
			}
		}
		text, _ := json.Marshal(is)
		fmt.Fprintf(os.Stdout, "is %s\n", text)
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// child is a server in a process of its own.
type child struct {
	*exec.Cmd
	addrs map[string]string
	in    io.WriteCloser
	out   *bufio.Reader
}

// startChild starts a server that an operator's NATS serves.
func startChild(t *testing.T, url string) *child {
	t.Helper()
	c, err := newChild(childConfig{URLs: []string{url}}, t.Output())
	if err != nil {
		t.Fatalf("a server does not start: %v", err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		_ = patient.Exit(c.Cmd) // it was killed
	})
	return c
}

// newChild starts a server, and returns when it serves.
func newChild(what childConfig, log io.Writer) (c *child, err error) {
	text, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	c = &child{Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), childVariable+"="+string(text))
	c.Stderr = log
	if c.in, err = c.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReaderSize(out, 64<<10)
	var line string
	patient.Done(func() {
		for err == nil && !strings.HasPrefix(line, "{") { // ticks may have come before
			line, err = c.out.ReadString('\n')
		}
	})
	if err == nil {
		err = json.NewDecoder(strings.NewReader(line)).Decode(&c.addrs)
	}
	if err != nil {
		c.Process.Kill()
		return nil, errors.Join(err, patient.Exit(c.Cmd))
	}
	return c, nil
}

func (c *child) url(dialect string) string { return dialect + "://" + c.addrs[dialect] }

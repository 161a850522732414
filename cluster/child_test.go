package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/internal/patient"
)

// childEnv makes the test binary a node that runs until it is killed: childConfig in JSON.
const childEnv = "PARLEY_CLUSTER_CHILD"

type childConfig struct {
	Listen, Advertise, Dir string
	Peers                  []string
	Sync                   bool
}

// askEach is how often a player of a node asks for something.
const askEach = 20 * time.Millisecond

// child is that node. It plays a room of toys and asks all the time. It prints its ID, and then each tick that it runs: the number, the hash,
// and the requests, each with its node and number. A line on its standard input is answered with whether it leads the room's stream,
// whether it makes the room's entries, how long requests took since the line before, and the time of the processor that it has used. It ends with its standard input.
func child(what string) {
	var c childConfig
	if err := json.Unmarshal([]byte(what), &c); err != nil {
		panic(err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	n, err := Start(Config{Name: "test", Listen: c.Listen, Advertise: c.Advertise, Peers: c.Peers, Dir: c.Dir, SyncAlways: c.Sync, Log: log})
	if err != nil {
		panic(err)
	}
	fmt.Printf("node %016x\n", n.id)
	do := make(chan func(), 64)
	asked, took := map[uint64]time.Time{}, []time.Duration{}
	w := newToy(func(tick, hash uint64, requests []toyRequest) {
		line := fmt.Appendf(nil, "tick %d %016x", tick, hash)
		for _, q := range requests {
			line = fmt.Appendf(line, " %016x:%d", q.node, q.number)
			if at, ok := asked[q.number]; ok && q.node == n.id {
				delete(asked, q.number)
				took = append(took, time.Since(at))
			}
		}
		os.Stdout.Write(append(line, '\n'))
	})
	w.complain = func(err error) { log.Error("an entry does not follow", "err", err) }
	r, err := n.Open("main", RoomConfig{Period: 50 * time.Millisecond, World: w, Run: func(fn func()) bool { do <- fn; return true }})
	if err != nil {
		panic(err)
	}
	go func() {
		for range time.Tick(askEach) {
			do <- func() {
				at := time.Now()
				if number, err := r.Ask([]byte("move")); err == nil {
					asked[number] = at
				}
			}
		}
	}()
	go func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			do <- func() {
				leads := n.natsServer().JetStreamIsStreamLeader("$G", fmt.Sprint("parley-log-", streamOf(r.key)))
				slices.Sort(took)
				took = append(took, 0)
				fmt.Println("is", leads, r.Sequences(), int64(took[len(took)/2]), int64(took[(len(took)-1)*99/100]), int64(cpuTime()))
				took = took[:0]
			}
		}
		os.Exit(0)
	}()
	for fn := range do {
		fn()
	}
}

// machine is a node in a process of its own.
type machine struct {
	t     *testing.T
	c     childConfig
	cmd   *exec.Cmd
	in    *os.File
	story *story

	mu       sync.Mutex
	id       string
	ticks    int // that it has run since it was started
	own      int // of its own requests
	last     time.Time
	pause    time.Duration // the longest since it was reset
	leads    bool
	makes    bool
	answers  int
	median   time.Duration // of its requests, between the last two answers
	p99      time.Duration
	cpu      time.Duration
	trouble  strings.Builder
	finished chan struct{}
}

// start starts it, again if it was killed.
func (m *machine) start() {
	m.t.Helper()
	text, _ := json.Marshal(m.c)
	m.cmd = exec.Command(os.Args[0])
	m.cmd.Env = append(os.Environ(), childEnv+"="+string(text), "GOMAXPROCS=2")
	m.mu.Lock()
	m.id, m.ticks, m.own, m.last, m.finished = "", 0, 0, time.Time{}, make(chan struct{})
	m.mu.Unlock()
	in, err := m.cmd.StdinPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	m.in = in.(*os.File)
	m.cmd.Stderr = m
	out, err := m.cmd.StdoutPipe()
	if err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	go func(over chan struct{}) {
		defer close(over)
		lines := bufio.NewScanner(out)
		for lines.Buffer(nil, 1<<20); lines.Scan(); {
			m.take(lines.Text())
		}
	}(m.finished)
}

// Write takes what the node logs, for a test that fails.
func (m *machine) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.trouble.Len() < 1<<16 {
		m.trouble.Write(b)
	}
	return len(b), nil
}

// take takes a line of the node.
func (m *machine) take(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	what, rest, _ := strings.Cut(line, " ")
	switch what {
	case "node":
		m.id = rest
	case "is":
		m.answers++
		fmt.Sscan(rest, &m.leads, &m.makes, &m.median, &m.p99, &m.cpu)
	case "tick":
		now := time.Now()
		if m.ticks++; !m.last.IsZero() {
			m.pause = max(m.pause, now.Sub(m.last))
		}
		m.last = now
		m.own += strings.Count(rest, " "+m.id+":")
		m.story.tell(rest, m.c.Listen)
	}
}

func (m *machine) resetPause() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pause = 0
}

func (m *machine) longest() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pause
}

func (m *machine) done() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.own
}

func (m *machine) ran() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ticks
}

// ask asks what the node is to the room.
func (m *machine) ask() (leads, makes bool) {
	m.t.Helper()
	m.mu.Lock()
	before := m.answers
	m.mu.Unlock()
	fmt.Fprintln(m.in)
	until(m.t, "an answer of a node", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		leads, makes = m.leads, m.makes
		return m.answers > before
	})
	return leads, makes
}

// kill is kill -9. What it has said before is in the story.
func (m *machine) kill() {
	m.cmd.Process.Kill()
	patient.Exit(m.cmd)
	select {
	case <-m.finished:
	case <-time.After(time.Minute):
		m.t.Fatal("the output of a killed node has no end")
	}
	m.in.Close()
}

func (m *machine) signal(s syscall.Signal) {
	if err := m.cmd.Process.Signal(s); err != nil {
		m.t.Fatal(err)
	}
}

// story is what all nodes have told of all ticks.
type story struct {
	t  *testing.T
	mu sync.Mutex

	ticks map[uint64]string // hash and requests
	by    map[uint64]string // who told it first
	first uint64
	last  uint64
}

// tell notes a tick that a node has run. No two may differ.
func (s *story) tell(line, by string) {
	number, rest, _ := strings.Cut(line, " ")
	var tick uint64
	fmt.Sscan(number, &tick)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch was, ok := s.ticks[tick]; {
	case !ok:
		s.ticks[tick], s.by[tick] = rest, by
		s.last = max(s.last, tick)
	case was != rest:
		s.t.Errorf("tick %d: %s says %s, and %s says %s", tick, s.by[tick], was, by, rest)
	}
}

// check reads the story from its beginning: no tick is missing, and of each node each request is there once, in order. What a node has told
// its players is part of the story, so that nothing is lost. It returns how many requests there were.
func (s *story) check() (requests int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	next := map[string]uint64{}
	for tick := s.first; tick <= s.last; tick++ {
		line, ok := s.ticks[tick]
		if !ok {
			s.t.Fatalf("nobody has told tick %d of %d", tick, s.last)
		}
		for _, q := range strings.Fields(line)[1:] {
			node, text, _ := strings.Cut(q, ":")
			var number uint64
			fmt.Sscan(text, &number)
			if next[node]++; number != next[node] {
				s.t.Fatalf("tick %d has request %d of node %s, and %d comes next", tick, number, node, next[node])
			}
			requests++
		}
	}
	return requests
}

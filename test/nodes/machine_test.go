package nodes

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/internal/patient"
)

// machine is a server of the counting game that is started again and again, at the same addresses.
type machine struct {
	t     *testing.T
	c     childConfig
	story *story

	mu     sync.Mutex
	child  *child
	lives  int
	last   time.Time     // when it told a tick
	pause  time.Duration // the longest between two since it was reset
	ticks  int           // since then
	is     childIs
	told   int // answers
	log    strings.Builder
	silent chan struct{} // closed when its output has ended
}

// name is that of this life of the server.
func (m *machine) name() string { return fmt.Sprintf("%s/%d", m.c.Listen, m.lives) }

func (m *machine) addr(dialect string) string {
	return fmt.Sprintf("127.0.0.1:%d", m.c.Ports+map[string]int{"replica": 0, "stamp": 1, "relay": 2, "duplex": 3, "realm": 4}[dialect])
}

func (m *machine) start() {
	m.t.Helper()
	c, err := newChild(m.c, m)
	if err != nil {
		m.t.Fatalf("server %s does not start: %v\n%s", m.c.Listen, err, m.said())
	}
	m.mu.Lock()
	m.child, m.lives, m.last, m.silent = c, m.lives+1, time.Time{}, make(chan struct{})
	name, silent := m.name(), m.silent
	m.mu.Unlock()
	go func() {
		defer close(silent)
		for lines := bufio.NewScanner(c.out); lines.Scan(); {
			m.takes(name, lines.Text())
		}
	}()
}

// Write takes what the server logs.
func (m *machine) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.log.Len() < 4<<20 {
		m.log.Write(b)
	}
	return len(b), nil
}

func (m *machine) said() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.String()
}

// takes takes a line of its output.
func (m *machine) takes(name, line string) {
	what, rest, _ := strings.Cut(line, " ")
	switch what {
	case "tick":
		m.mu.Lock()
		now := time.Now()
		if m.ticks++; !m.last.IsZero() {
			m.pause = max(m.pause, now.Sub(m.last))
		}
		m.last = now
		m.mu.Unlock()
		var tick uint64
		var hash string
		fmt.Sscan(rest, &tick, &hash)
		m.story.tells(name, tick, hash)
	case "event":
		var at place
		fmt.Sscan(rest, &at.tick, &at.index)
		parts := strings.SplitN(rest, " ", 3)
		m.story.happens(name, at, parts[2])
	case "is":
		m.mu.Lock()
		m.is = childIs{}
		json.Unmarshal([]byte(rest), &m.is)
		m.told++
		m.mu.Unlock()
	}
}

// ask asks what it is. With room it says what it is to the room main, which may take two seconds.
func (m *machine) ask(room string) (is childIs) {
	m.t.Helper()
	m.mu.Lock()
	before, in := m.told, m.child.in
	m.mu.Unlock()
	fmt.Fprintln(in, room)
	untilIn(m.t, "an answer of server "+m.c.Listen, time.Minute, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		is = m.is
		return m.told > before
	})
	return is
}

// reset forgets its longest pause.
func (m *machine) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pause, m.ticks = 0, 0
}

func (m *machine) paused() (longest time.Duration, ticks int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pause, m.ticks
}

// kill is kill -9. What it has said before is in the story.
func (m *machine) kill() {
	m.mu.Lock()
	c, silent, name := m.child, m.silent, m.name()
	m.child = nil
	m.mu.Unlock()
	if c == nil {
		return
	}
	c.Process.Kill()
	patient.Value(silent) // it is closed with the process
	patient.Exit(c.Cmd)
	c.in.Close()
	m.story.ends(name)
}

// end is SIGTERM. It waits until the process has ended.
func (m *machine) end() {
	m.mu.Lock()
	c, silent, name := m.child, m.silent, m.name()
	m.child = nil
	m.mu.Unlock()
	c.Process.Signal(syscall.SIGTERM)
	patient.Value(silent)
	if err := patient.Exit(c.Cmd); err != nil {
		m.t.Errorf("server %s ends with %v", m.c.Listen, err)
	}
	c.in.Close()
	m.story.ends(name)
}

func (m *machine) signal(s syscall.Signal) {
	if m.child != nil {
		m.child.Process.Signal(s)
	}
}

// untilIn waits for something that has a time of its own.
func untilIn(t *testing.T, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, limit)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// freePorts finds ports in a row, below those that a system gives out by itself: none of them is taken while a server is away.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	const first, last = 20_000, 30_000
	for try := range 1000 {
		from := first + (os.Getpid()*131+try*n)%(last-first-n)
		free := true
		for i := range n {
			free = free && isFree(fmt.Sprintf("127.0.0.1:%d", from+i))
		}
		if free {
			return from
		}
	}
	t.Fatal("no free ports")
	return 0
}

func isFree(addr string) bool {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	l.Close()
	p, err := net.ListenPacket("udp", addr)
	if err != nil {
		return false
	}
	p.Close()
	return true
}

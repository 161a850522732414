package crash

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley"
	"parley/account/sqlite"
	"parley/internal/patient"
	"parley/play/keep"
)

// tickRate is that of the server: many ticks, so that many are hit.
const tickRate = 50

// childEnv makes the test binary a server that is killed: mode, first port and folder.
const childEnv = "PARLEY_CRASH_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		child(what)
	}
	flag.Parse()
	flag.Set("test.parallel", strconv.Itoa(2*lives)) // they wait most of the time
	goleak.VerifyTestMain(m)
}

// ports are how many ports a server has.
const ports = 6

// child is the server. It ends with its standard input, that is, with the test at the latest.
func child(what string) {
	var mode keep.Mode
	var port int
	var dir string
	if _, err := fmt.Sscanf(what, "%d %d %s", &mode, &port, &dir); err != nil {
		panic(err)
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", port+i) }
	s, err := parley.Start(game(), parley.Config{
		Replica: at(0), Stamp: at(1), Relay: at(2), Duplex: at(3), Realm: at(4), RealmTime: at(5), RealmPlain: true,
		DataDir: dir, Keep: mode, KeepHistory: true, Hold: hold, Accounts: sqlite.OpenIn, Registrations: -1, Failures: -1, TickRate: tickRate, Sight: -1,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	s.Close()
	os.Exit(0)
}

// hold is longer than any server is away.
const hold = 10 * time.Minute

// server is a server in a process of its own.
type server struct {
	dir  string
	mode keep.Mode
	port int

	cmd     *exec.Cmd
	in      io.Closer
	trouble bytes.Buffer // its standard error
}

// start starts it, again if it was killed, and returns when it listens.
func (s *server) start(t *testing.T) {
	t.Helper()
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s", childEnv, s.mode, s.port, s.dir))
	s.cmd.Stderr = &s.trouble
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in = in
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer patient.End().Stop()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		s.kill(t)
		t.Fatalf("a server does not start: %q, %v\n%s", line, err, s.trouble.String())
	}
}

// kill is kill -9. A server that has complained before fails the test.
func (s *server) kill(t *testing.T) {
	t.Helper()
	s.cmd.Process.Kill()
	patient.Exit(s.cmd) // it was killed: its error is known
	s.in.Close()
	if s.trouble.Len() > 0 {
		t.Errorf("the server says:\n%s", s.trouble.String())
		s.trouble.Reset()
	}
}

// addr is where a dialect listens.
func (s *server) addr(dialect string) string {
	i := map[string]int{"replica": 0, "stamp": 1, "relay": 2, "duplex": 3, "realm": 4}[dialect]
	return fmt.Sprintf("127.0.0.1:%d", s.port+i)
}

var nextPort atomic.Int32

// freePorts finds ports for a server, below those that a system gives out by itself: none of them is taken while the server is away.
func freePorts(t *testing.T) int {
	t.Helper()
	const first, last = 10_000, 20_000
	for range last - first {
		n := int(nextPort.Add(1))
		port := first + (os.Getpid()*131+n)*ports%(last-first-ports)
		if areFree(port) {
			return port
		}
	}
	t.Fatal("no free ports")
	return 0
}

func areFree(port int) bool {
	for i := range ports {
		at := fmt.Sprintf("127.0.0.1:%d", port+i)
		l, err := net.Listen("tcp", at)
		if err != nil {
			return false
		}
		l.Close()
		p, err := net.ListenPacket("udp", at)
		if err != nil {
			return false
		}
		p.Close()
	}
	return true
}

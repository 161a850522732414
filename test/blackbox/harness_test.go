package blackbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/internal/patient"
)

// program is the built parley, empty if there is no go to build it with.
var program string

func TestMain(m *testing.M) {
	for variable, be := range map[string]func(string) error{loadServer: beLoadServer, floodSink: beFloodSink} {
		if what := os.Getenv(variable); what != "" {
			if err := be(what); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	flag.Set("test.parallel", "6") // those that run beside others wait most of the time
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	if _, err := exec.LookPath("go"); err != nil {
		return m.Run() // needProgram skips
	}
	dir, err := os.MkdirTemp("", "parley-blackbox-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "parley")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "parley/cmd/parley").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building parley: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func needProgram(t *testing.T) {
	t.Helper()
	if program == "" {
		t.Skip("there is no go command to build the program with")
	}
}

// patience is how long a test waits for something that must come: it is no measure, but ends a
// test that would else hang.
const patience = 3 * time.Minute

// server is a running `parley serve`.
type server struct {
	cmd    *exec.Cmd
	ready  string // its ready file
	addrs  map[string]string
	stderr *noise
	exited chan error
	once   sync.Once
}

// noise keeps what a process says.
type noise struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (n *noise) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.Write(p)
}

func (n *noise) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.String()
}

// anyPort are flags that have the system choose all ports.
func anyPort() (args []string) {
	for _, name := range []string{"replica", "stamp", "relay", "duplex", "realm", "realm-time", "web", "play"} {
		args = append(args, "--"+name, "127.0.0.1:0")
	}
	return args
}

// serve starts the program and returns when its ready file is there.
func serve(t *testing.T, more ...string) *server {
	t.Helper()
	s := newServer(t, more...)
	s.start(t)
	return s
}

// newServer is a program that is not started yet.
func newServer(t *testing.T, more ...string) *server {
	t.Helper()
	needProgram(t)
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready.json")
	args := append([]string{"serve", "--data", filepath.Join(dir, "data"), "--ready-file", ready, "--log-level", "warn",
		"--registrations", "-1", "--sight", "-1", "--seed", "7"}, anyPort()...)
	s := &server{cmd: exec.Command(program, append(args, more...)...), ready: ready, stderr: new(noise), exited: make(chan error, 1)}
	s.cmd.Stderr, s.cmd.Env = s.stderr, cleanEnv()
	return s
}

// cleanEnv is the environment without PARLEY_ variables: PARLEY_PR and the like are for the tests, and the program
// warns of a variable that it does not know.
func cleanEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(line string) bool { return strings.HasPrefix(line, "PARLEY_") })
}

// start returns when the program is ready.
func (s *server) start(t *testing.T) {
	t.Helper()
	if err := s.tryStart(t); err != nil {
		t.Fatal(err)
	}
}

// tryStart is start, and returns what a program said that ended before it was ready.
func (s *server) tryStart(t *testing.T) error {
	t.Helper()
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.kill() })
	// The table is printed once the file is written.
	late := time.AfterFunc(patience, func() { s.cmd.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			s.wait(lines)
			return fmt.Errorf("the server ended before it was ready: %s", s.stderr)
		}
		if strings.HasPrefix(line, "Interrupt to stop") {
			break
		}
	}
	go s.wait(lines)
	text, err := os.ReadFile(s.ready)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &s.addrs); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return nil
}

// wait reads to the end what the server prints, and takes its exit.
func (s *server) wait(out io.Reader) {
	io.Copy(io.Discard, out)
	s.exited <- patient.Exit(s.cmd)
}

func (s *server) kill() {
	s.once.Do(func() {
		s.cmd.Process.Kill()
		patient.Value(s.exited)
	})
}

// terminate sends SIGTERM.
func (s *server) terminate(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// status waits for the exit status.
func (s *server) status(t *testing.T) (code int) {
	t.Helper()
	s.once.Do(func() {
		select {
		case err := <-s.exited:
			code = statusOf(err)
		case <-time.After(patience):
			s.cmd.Process.Kill()
			patient.Value(s.exited)
			t.Fatal("the server did not end")
		}
	})
	return code
}

// stop ends the server by SIGTERM. It says goodbye to the clients, and its exit status is 0.
func (s *server) stop(t *testing.T, clients ...client) {
	t.Helper()
	s.terminate(t)
	for _, c := range clients {
		if err := goodbye(c); err != nil {
			t.Error(err)
		}
	}
	if status := s.status(t); status != 0 {
		t.Errorf("exit status %d: %s", status, s.stderr)
	}
}

func statusOf(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// run runs the program to its end.
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	needProgram(t)
	defer patient.End().Stop()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &errs, cleanEnv()
	err := cmd.Run()
	return statusOf(err), out.String(), errs.String()
}

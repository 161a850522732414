package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is a parley that runs.
type server struct {
	bin   string // the program
	dir   string
	flags []string
	addrs map[string]string // as the ready file has them
	run   *process
}

// serve starts a server at free ports of this machine. Its players see each other wherever they are.
func serve(t *testing.T, flags ...string) *server {
	t.Helper()
	return serveGame(t, program, flags...)
}

// serveGame starts the server of another program.
func serveGame(t *testing.T, bin string, flags ...string) *server {
	t.Helper()
	s := &server{bin: bin, dir: t.TempDir(), flags: flags, addrs: map[string]string{}}
	for _, name := range []string{"replica", "stamp", "relay", "duplex", "realm", "realm-time", "web", "play"} {
		s.addrs[name] = "127.0.0.1:0"
	}
	s.start(t)
	return s
}

func (s *server) ready() string { return filepath.Join(s.dir, "ready.json") }

// start runs the server, at the addresses that it had if it has run before.
func (s *server) start(t *testing.T) {
	t.Helper()
	os.Remove(s.ready())
	args := []string{"serve", "--data", filepath.Join(s.dir, "data"), "--ready-file", s.ready(), "--log-level", "warn", "--sight", "-1", "--registrations", "-1"}
	for name, addr := range s.addrs {
		if name == "duplex-feed" {
			continue // it is at duplex's port
		}
		args = append(args, "--"+name, addr)
	}
	s.run = spawnOf(t, s.bin, append(args, s.flags...)...)
	until(t, "the server is ready", func() bool {
		if s.run.ended() {
			t.Fatalf("the server has ended: %s", s.run.said())
		}
		text, err := os.ReadFile(s.ready())
		return err == nil && json.Unmarshal(text, &s.addrs) == nil
	})
}

// stop ends the server as an operator would.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.run.cmd.Process.Signal(syscall.SIGTERM)
	until(t, "the server ends", s.run.ended)
}

func (s *server) play() string { return "http://" + s.addrs["play"] + "/" }

func (s *server) token(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "data", "operator.token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// bots has bots play until the test ends.
func (s *server) bots(t *testing.T, mix string) {
	t.Helper()
	spawn(t, "bots", "--ready-file", s.ready(), "--mix", mix, "--for", "10m")
}

// process is a parley, which ends with its test.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	mu   sync.Mutex
	text bytes.Buffer
}

func spawn(t *testing.T, args ...string) *process { return spawnOf(t, program, args...) }

func spawnOf(t *testing.T, bin string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(bin, args...), done: make(chan struct{})}
	for _, line := range os.Environ() { // what PARLEY_ variables there are is for the tests
		if !strings.HasPrefix(line, "PARLEY_") {
			p.cmd.Env = append(p.cmd.Env, line)
		}
	}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		select {
		case <-p.done:
		case <-time.After(patience):
			t.Error("a process of parley does not end")
		}
		if t.Failed() {
			t.Logf("parley %s said:\n%s", args[0], p.said())
		}
	})
	return p
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// until waits for something, for as long as patience.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	again := time.NewTicker(turn)
	defer again.Stop()
	for !is() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("after %v still not: %s", patience, what)
		}
	}
}

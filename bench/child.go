package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A child is another process: this program in another role, or a peer that is a program
// of its own. It is asked by a line of JSON and answers with one.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// request is what a child is asked: what to do, and with what.
type request struct {
	Do   string          `json:"do"`
	With json.RawMessage `json:"with,omitempty"`
}

// reply is its answer.
type reply struct {
	Error string          `json:"error,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// maxReply bounds a line: the latencies of a run are in one.
const maxReply = 64 << 20

// roleVariable tells a child its role. It is in the environment and not a flag, so that a
// test binary can be a child too.
const roleVariable = "PARLEY_BENCH_ROLE"

// start starts a child in a role.
func start(role string) (*child, error) { return startFor(Peer{}, role) }

// startFor starts a child that is a role of a peer.
func startFor(p Peer, role string) (*child, error) {
	cmd, err := commandFor(p, role)
	if err != nil {
		return nil, err
	}
	return startIn(nursery(), cmd)
}

// commandFor is the program of a role of a peer: this one, unless the peer has one of its own.
func commandFor(p Peer, role string) (*exec.Cmd, error) {
	if p.Program != nil {
		return p.Program(role)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	return cmd, nil
}

// startIn starts a child in a thread.
func startIn(t thread, cmd *exec.Cmd) (c *child, err error) {
	t.do(func() { c, err = startCommand(cmd) })
	return c, err
}

func startCommand(cmd *exec.Cmd) (c *child, err error) {
	c = &child{cmd: cmd}
	c.cmd.Stderr = os.Stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it does not outlive our thread
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	c.out.Buffer(nil, maxReply)
	return c, c.cmd.Start()
}

// askPatience is how long a child may take for anything. What it is asked takes less than
// half of that; one that is overwhelmed by its work may never answer.
const askPatience = 90 * time.Second

// ask has the child do something and waits for its answer.
func (c *child) ask(do string, with, value any) error {
	w, err := json.Marshal(with)
	if err != nil {
		return err
	}
	line, err := json.Marshal(request{do, w})
	if err != nil {
		return err
	}
	slow := time.AfterFunc(askPatience, func() { c.cmd.Process.Kill() })
	defer slow.Stop()
	if _, err := fmt.Fprintf(c.in, "%s\n", line); err != nil {
		return fmt.Errorf("%s: the process is gone: %w", do, err)
	}
	if !c.out.Scan() {
		return fmt.Errorf("%s: the process ended: %w", do, errors.Join(c.out.Err(), io.ErrUnexpectedEOF))
	}
	var r reply
	if err := json.Unmarshal(c.out.Bytes(), &r); err != nil {
		return fmt.Errorf("%s: it answers %.80q: %w", do, c.out.Bytes(), err)
	}
	if r.Error != "" {
		return fmt.Errorf("%s: %s", do, r.Error)
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(r.Value, value)
}

// stop ends the child: its input ends, and if it does not go by itself, it is killed.
func (c *child) stop() {
	c.in.Close()
	patience := time.AfterFunc(5*time.Second, func() { c.cmd.Process.Kill() })
	c.cmd.Wait() // how it ends says nothing of what was measured
	patience.Stop()
}

// family is the children of one run, which end together.
type family []*child

// add starts a child of a peer.
func (f *family) add(p Peer, role string) (*child, error) {
	c, err := startFor(p, role)
	if err == nil {
		*f = append(*f, c)
	}
	return c, err
}

// stop ends them, clients before servers.
func (f family) stop() {
	for i := len(f) - 1; i >= 0; i-- {
		f[i].stop()
	}
}

// deed is something that a child can do.
type deed func(with json.RawMessage) (any, error)

// idle is the deed of a child that nobody has asked for anything: it takes a moment, and is done again until somebody does.
// A child that has none, or nothing to do, waits.
const idle = "idle"

// errNothing says that there is nothing to do while idle.
var errNothing = errors.New("nothing to do")

// serveRequests is a child's life: it does what it is asked until its parent is gone.
func serveRequests(deeds map[string]deed) {
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		in := bufio.NewScanner(os.Stdin)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			lines <- bytes.Clone(in.Bytes())
		}
	}()
	var failed error // while idle, which the next request hears of
	for line, ok := nextRequest(lines, deeds[idle], &failed); ok; line, ok = nextRequest(lines, deeds[idle], &failed) {
		var q request
		var r reply
		err := cmp.Or(failed, json.Unmarshal(line, &q))
		if err == nil {
			r.Value, err = perform(deeds, q)
		}
		if err != nil {
			r.Error = err.Error()
		}
		line, _ := json.Marshal(r) // what was made of JSON can be made JSON
		fmt.Printf("%s\n", line)
	}
}

// nextRequest waits for a request, and is idle meanwhile.
func nextRequest(lines <-chan []byte, rest deed, failed *error) (line []byte, ok bool) {
	for rest != nil && *failed == nil {
		select {
		case line, ok = <-lines:
			return line, ok
		default:
		}
		if _, err := rest(nil); err == errNothing {
			break
		} else if err != nil {
			*failed = err
		}
	}
	line, ok = <-lines
	return line, ok
}

func perform(deeds map[string]deed, q request) (json.RawMessage, error) {
	do := deeds[q.Do]
	if do == nil {
		do = costDeeds[q.Do]
	}
	if do == nil {
		return nil, fmt.Errorf("no such thing to do")
	}
	v, err := do(q.With)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// decode reads what a deed is done with.
func decode[T any](with json.RawMessage) (v T, err error) {
	err = json.Unmarshal(with, &v)
	return v, err
}

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// A child is this program in another role, in a process of its own. It is asked by a line
// of JSON and answers with one.
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

// start starts a child in a role.
func start(role string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(self, "-role", role)}
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	c.out.Buffer(nil, 64<<20)
	return c, c.cmd.Start()
}

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
	if _, err := fmt.Fprintf(c.in, "%s\n", line); err != nil {
		return fmt.Errorf("%s: the process is gone: %w", do, err)
	}
	if !c.out.Scan() {
		return fmt.Errorf("%s: the process ended: %w", do, errors.Join(c.out.Err(), io.ErrUnexpectedEOF))
	}
	var r reply
	if err := json.Unmarshal(c.out.Bytes(), &r); err != nil {
		return fmt.Errorf("%s: %w", do, err)
	}
	if r.Error != "" {
		return fmt.Errorf("%s: %s", do, r.Error)
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(r.Value, value)
}

// stop ends the child.
func (c *child) stop() {
	c.in.Close()
	done := make(chan struct{})
	go func() {
		c.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		c.cmd.Process.Kill()
		<-done
	}
}

// deed is something that a child can do.
type deed func(with json.RawMessage) (any, error)

// serveRequests is a child's life: it does what it is asked until its parent is gone.
func serveRequests(deeds map[string]deed) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var q request
		var r reply
		err := json.Unmarshal(in.Bytes(), &q)
		if err == nil {
			r.Value, err = perform(deeds, q)
		}
		if err != nil {
			r.Error = err.Error()
		}
		line, _ := json.Marshal(r)
		fmt.Printf("%s\n", line)
	}
}

func perform(deeds map[string]deed, q request) (json.RawMessage, error) {
	if q.Do == "usage" {
		return json.Marshal(usageNow())
	}
	do := deeds[q.Do]
	if do == nil {
		return nil, fmt.Errorf("no such thing to do")
	}
	v, err := do(q.With)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// usage is what a process has cost so far.
type usage struct {
	CPU time.Duration `json:"cpu"` // user and system
	RSS int64         `json:"rss"` // bytes, after a collection
	At  time.Time     `json:"at"`
}

func usageNow() usage {
	runtime.GC()
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return usage{CPU: time.Duration(r.Utime.Nano() + r.Stime.Nano()), RSS: rss(), At: time.Now()}
}

// rss reads the resident memory of the process.
func rss() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int64
	fmt.Sscan(strings.TrimSpace(string(text)), &size, &resident)
	return resident * int64(os.Getpagesize())
}

// decode reads what a deed is done with.
func decode[T any](with json.RawMessage) (v T, err error) {
	err = json.Unmarshal(with, &v)
	return v, err
}

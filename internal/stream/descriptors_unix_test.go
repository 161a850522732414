//go:build unix

package stream

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/patient"
	"parley/internal/promise"
)

// T61: a server with 100 descriptors survives 200 connections, and serves again when they
// have left. It is a process of its own, as the limit is a process's.
func TestALackOfDescriptorsPasses(t *testing.T) {
	defer patient.End().Stop()
	promise.Keeps(t, "T61", "stream", 1)
	if os.Getenv("STREAM_FEW_DESCRIPTORS") != "" {
		serveWithFewDescriptors(t)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), "STREAM_FEW_DESCRIPTORS=1")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer patient.Exit(child)
	defer stdin.Close() // which ends the child
	lines := bufio.NewScanner(stdout)
	next := func(prefix string) string {
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), prefix); ok {
				return text
			}
		}
		t.Fatalf("the server ended before it said %q", prefix)
		return ""
	}
	addr := next("listening at ")
	var crowd []net.Conn
	for range 200 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		crowd = append(crowd, c)
	}
	next("no more descriptors")
	for _, c := range crowd {
		c.Close()
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Write([]byte("hello"))
	if got := make([]byte, 5); true {
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// serveWithFewDescriptors is the server, until its standard input ends.
func serveWithFewDescriptors(t *testing.T) {
	limit := syscall.Rlimit{Cur: 100, Max: 100}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	// All come from one host: without the bound on those of a host the descriptors run out first.
	s := newServer(t, Config{Waiting: admission.PorchConfig{Host: -1, Network: -1}}, echo)
	fmt.Printf("listening at %s\n", s.l.Addr())
	for end := time.Now().Add(time.Minute); s.l.Stats().AcceptErrs == 0; s.do(func() {}) {
		if time.Now().After(end) {
			t.Fatalf("the descriptors do not run out: %+v", s.l.Stats())
		}
	}
	fmt.Println("no more descriptors")
	io.Copy(io.Discard, os.Stdin)
}

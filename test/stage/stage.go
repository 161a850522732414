// Package stage runs the examples for their tests: a server, and people at terminals.
package stage

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"parley/internal/patient"
)

// Serve runs a server until the test ends. It returns the words of the first line that the server prints, and a function
// that closes the server and returns its error.
func Serve(t *testing.T, serve func(ctx context.Context, out io.Writer) error) (words []string, end func() error) {
	t.Helper()
	defer patient.End().Stop()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- serve(ctx, in) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	end = func() error {
		cancel()
		err := patient.Value(done)
		done <- err
		return err
	}
	t.Cleanup(func() { end() })
	return strings.Fields(line), end
}

// Person is somebody at a terminal.
type Person struct {
	t    *testing.T
	keys *io.PipeWriter
	sees chan string
	done chan error
}

// Sit runs a client with a terminal of its own.
func Sit(t *testing.T, client func(ctx context.Context, in io.Reader, out io.Writer) error) *Person {
	in, keys := io.Pipe()
	screen, out := io.Pipe()
	p := &Person{t, keys, make(chan string, 1000), make(chan error, 1)}
	go func() {
		for lines := bufio.NewScanner(screen); lines.Scan(); {
			p.sees <- lines.Text()
		}
		close(p.sees)
	}()
	go func() {
		p.done <- client(t.Context(), in, out)
		out.Close()
		in.Close()
	}()
	return p
}

// Type types a line.
func (p *Person) Type(words ...any) {
	p.t.Helper()
	defer patient.End().Stop()
	if _, err := fmt.Fprintln(p.keys, words...); err != nil {
		p.t.Fatal(err)
	}
}

// Sees checks the next lines on the screen.
func (p *Person) Sees(lines ...string) {
	p.t.Helper()
	for _, want := range lines {
		if got := patient.Value(p.sees); got != want {
			p.t.Fatalf("got %q, want %q", got, want)
		}
	}
}

// SeesAtLast reads lines until one is as wanted.
func (p *Person) SeesAtLast(want string) {
	p.t.Helper()
	defer patient.End().Stop()
	var saw []string
	for line := range p.sees {
		if line == want {
			return
		}
		saw = append(saw, line)
	}
	p.t.Fatalf("%q did not come, but %q", want, saw)
}

// Leaves ends the input, and checks that the client then ends without an error.
func (p *Person) Leaves() {
	p.t.Helper()
	p.keys.Close()
	if err := p.Ends(); err != nil {
		p.t.Errorf("a person left with %v", err)
	}
}

// Ends waits until the client has ended, and returns its error.
func (p *Person) Ends() error { return patient.Value(p.done) }

// IsTold checks that the client ends with an error that contains want.
func (p *Person) IsTold(want string) {
	p.t.Helper()
	if err := p.Ends(); err == nil || !strings.Contains(err.Error(), want) {
		p.t.Errorf("a person was told %v, want %q", err, want)
	}
}

// Usage checks that run refuses each of these command lines with a line of usage.
func Usage(t *testing.T, run func(ctx context.Context, args []string) error, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if err := run(t.Context(), strings.Fields(line)); err == nil || !strings.HasPrefix(err.Error(), "usage: ") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

package shelltest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"parley/internal/patient"
)

// Helper is another process of a benchmark, so that CPU time is each one's own. It is the
// same program, told by its environment to be something else, and obeys lines.
type Helper struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// StartHelper starts this test program again with a variable set to what it shall be.
func StartHelper(tb testing.TB, variable, what string) *Helper {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+what)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		in.Close()
		_ = patient.Exit(cmd)
	})
	return &Helper{in, bufio.NewReader(out)}
}

// Ask has the helper do something and scans its answer.
func (h *Helper) Ask(tb testing.TB, question string, answer ...any) {
	tb.Helper()
	defer patient.End().Stop()
	fmt.Fprintln(h.in, question)
	line, err := h.out.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, answer...)
	}
	if err != nil {
		tb.Fatalf("%s: the helper says %q: %v", question, line, err)
	}
}

// Burden is what a process has cost so far.
type Burden struct {
	CPU       time.Duration
	Datagrams uint64
}

// Since returns the CPU time a datagram in ns.
func (x Burden) Since(then Burden) float64 {
	return float64(x.CPU-then.CPU) / float64(x.Datagrams-then.Datagrams)
}

// Median returns the middle one.
func Median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

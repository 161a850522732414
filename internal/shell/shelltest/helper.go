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

	"go.uber.org/goleak"

	"parley/internal/patient"
)

// Helper is another process of a benchmark, so that the CPU time of each part can be
// measured. It runs the same program, whose role is set by an environment variable, and
// obeys lines on its standard input.
type Helper struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// StartHelper starts this test program again, with an environment variable that sets its
// role to what.
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

// Main runs the tests and checks that they leave no goroutine behind. In a helper process, which has the
// environment variable, it runs the helper instead, with the role that the variable sets.
func Main(m *testing.M, variable string, helper func(what string)) {
	if what := os.Getenv(variable); what != "" && helper != nil {
		helper(what)
		return
	}
	goleak.VerifyTestMain(m)
}

// Ask sends the helper a line and scans its answer.
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

// Burden is the CPU time that a process has used so far, and the datagrams that it has
// moved.
type Burden struct {
	CPU       time.Duration
	Datagrams uint64
}

// Compare runs rounds of a benchmark, and reports what a datagram costs here, what in the helper's bare loop, and the ratio
// of the two.
func (h *Helper) Compare(b *testing.B, here func() Burden, round func()) {
	bare := func() (x Burden) {
		h.Ask(b, "burden", &x.CPU, &x.Datagrams)
		return x
	}
	var ratios, ours, floors []float64
	for b.Loop() {
		a, z := here(), bare()
		round()
		x, y := here().Since(a), bare().Since(z)
		ours, floors, ratios = append(ours, x), append(floors, y), append(ratios, x/y)
	}
	b.ReportMetric(Median(ours), "cpu-ns/datagram")
	b.ReportMetric(Median(floors), "floor-ns/datagram")
	b.ReportMetric(Median(ratios), "x-floor")
	b.ReportMetric(0, "ns/op") // of all together: means nothing
}

// Since returns the CPU time per datagram since then, in ns.
func (x Burden) Since(then Burden) float64 {
	return float64(x.CPU-then.CPU) / float64(x.Datagrams-then.Datagrams)
}

// Median returns the middle value.
func Median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

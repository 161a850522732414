// Package patient gives each wait of a test a time limit. A test that waits for ever would block all others until go test
// itself gives up, without saying which wait it was.
package patient

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// limit is far more than any wait takes on a slow, busy machine. With the counts of the gate or of the nightly soak, a
// wait may be for two minutes of work. A wait on an idle machine ends sooner: see idleLimit.
var limit = func() time.Duration {
	switch {
	case os.Getenv("PARLEY_SOAK") != "":
		return time.Hour
	case os.Getenv("PARLEY_PR") != "":
		return 20 * time.Minute
	}
	return 5 * time.Minute
}()

// Value receives from c.
func Value[T any](c <-chan T) T {
	defer End().Stop()
	return <-c
}

// Done calls f, which may block, such as the Wait of a sync.WaitGroup.
func Done(f func()) {
	defer End().Stop()
	f()
}

// Until waits until something holds that other goroutines bring about, and fails the test if it does not.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	began := time.Now()
	wait := wait{last: began}
	for ; !holds(); time.Sleep(time.Millisecond) {
		if time.Since(wait.last) >= min(step, limit) && wait.over(time.Now()) {
			t.Fatalf("%s: it has not come within %v", what, time.Since(began).Round(time.Millisecond))
		}
	}
}

// Test gives a whole test a time limit. Benchmarks have none.
func Test(t testing.TB) {
	if _, ok := t.(*testing.B); ok {
		return
	}
	end := End()
	t.Cleanup(func() { end.Stop() })
}

// Exit waits for a started command, and kills it if it does not end by itself.
func Exit(c *exec.Cmd) error {
	defer time.AfterFunc(limit, func() { c.Process.Kill() }).Stop()
	return c.Wait()
}

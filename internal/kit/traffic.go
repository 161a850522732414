package kit

import (
	"testing"

	"parley/internal/metric"
	"parley/internal/shell/shelltest"
)

// Traffic holds what a server counts of all connections against what each of them counts, those included that are over: no
// counter has fallen since the last call, and each is their sum. last is of the call before.
func Traffic[Conn, Stats comparable](t testing.TB, last *Stats, got Stats, conns map[Conn]bool, of func(Conn) Stats) {
	t.Helper()
	var want Stats
	sums := metric.NewAdder[Stats]()
	for c := range conns {
		st := of(c)
		sums.Add(&want, &st)
	}
	if err := shelltest.Falls(*last, got); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("%+v, but its %d connections have %+v", got, len(conns), want)
	}
	if s, ok := any(&got).(interface{ Check() error }); ok {
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
	}
	*last = got
}

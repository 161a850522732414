package parley_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/patient"
	"parley/play/bots"
	"parley/test/field"
)

// stuckLog is a handler that never returns until it is let go.
type stuckLog struct{ free chan struct{} }

func (l stuckLog) Enabled(context.Context, slog.Level) bool { return true }
func (l stuckLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l stuckLog) WithGroup(string) slog.Handler            { return l }

func (l stuckLog) Handle(context.Context, slog.Record) error {
	patient.Value(l.free)
	return nil
}

// 15.9: a Config.Log that nobody reads stops no tick, lets players in, and holds up no end.
func TestALogThatNobodyReadsStopsNothing(t *testing.T) {
	t.Parallel() // it waits for most of its time
	log := stuckLog{make(chan struct{})}
	defer close(log.free)
	c := field.Replica()
	c.Log = slog.New(log)
	s := field.Serve(t, arena.Game(), c)
	v := field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema})
	s.Log().Warn("the game speaks too")
	v.Leave()
	s.Within(t, "it has left", func() bool { return len(playersOf(t, s)) == 0 })
	if n := s.Stats().Log; n.Waiting == 0 || n.Lines > 1 {
		t.Errorf("%+v, and nobody reads", n)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Close() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

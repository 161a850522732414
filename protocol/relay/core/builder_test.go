package core

import (
	"bytes"
	"testing"
	"time"

	"parley/internal/kit"
)

// A builder keeps messages whole and in order, makes no package over its limit, and keeps none
// for longer than its delay. Held against a model.
func TestBuilderAgainstAModel(t *testing.T) {
	r := kit.Rand(t)
	for range kit.Rounds(2000, 20_000) {
		b := Builder{Delay: time.Duration(r.IntN(50)) * time.Millisecond, Limit: r.IntN(700)}
		limit := b.Limit
		if limit == 0 || limit > MaxPayload {
			limit = MaxPayload
		}
		now, oldest := start, time.Time{}
		var in, out []byte
		flush := func(payload []byte) {
			if len(payload) == 0 || len(payload) > limit {
				t.Fatalf("a package of %d bytes", len(payload))
			}
			out = append(out, payload...)
		}
		for range 100 {
			m := randomBytes(r, 520)
			err := b.Add(now, m, flush)
			if bad := len(m) == 0 || len(m) > limit; bad != (err == ErrPayloadSize) {
				t.Fatalf("%d bytes of %d: %v", len(m), limit, err)
			} else if !bad {
				in = append(in, m...)
			}
			if len(out) == len(in) {
				oldest = time.Time{}
			} else if at, ok := b.NextTimeout(); !ok {
				t.Fatal("something waits without a timeout")
			} else {
				oldest = at
			}
			now = now.Add(time.Duration(r.IntN(20)) * time.Millisecond)
			b.HandleTimeout(now, flush)
			if len(out) < len(in) && !oldest.IsZero() && !now.Before(oldest) {
				t.Fatalf("something waits since before %v", now.Sub(oldest))
			}
			if !bytes.HasPrefix(in, out) {
				t.Fatal("the packages do not say what was added")
			}
		}
		b.Flush(flush)
		b.Flush(flush)
		if _, ok := b.NextTimeout(); ok || !bytes.Equal(in, out) {
			t.Fatalf("%d of %d bytes came out, and a timeout is left: %t", len(out), len(in), ok)
		}
	}
}

// What flush adds to the same builder is not lost.
func TestBuilderMayBeUsedInFlush(t *testing.T) {
	var b Builder
	var out []string
	var flush func(payload []byte)
	flush = func(payload []byte) {
		out = append(out, string(payload))
		if len(out) == 1 {
			_ = b.Add(start, []byte("again"), flush)
		}
	}
	_ = b.Add(start, []byte("once"), flush)
	b.Flush(flush)
	b.Flush(flush)
	if len(out) != 2 || out[0] != "once" || out[1] != "again" {
		t.Errorf("got %q", out)
	}
}

func TestBuilderAllocatesNothing(t *testing.T) {
	if kit.Race {
		t.Skip("the race detector allocates")
	}
	b := Builder{Delay: time.Millisecond}
	message, total := noise[:50], 0
	flush := func(p []byte) { total += len(p) }
	_ = b.Add(start, message, flush)
	if got := testing.AllocsPerRun(1000, func() { _ = b.Add(start, message, flush) }); got != 0 || total < 40_000 {
		t.Errorf("%v allocations a message, %d bytes flushed", got, total)
	}
}

package scribe

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Handler is a slog.Handler that never blocks. Handlers made by WithAttrs and WithGroup share its buffer.
type Handler struct {
	next  slog.Handler
	proto string      // the dialect that logs the lines
	attrs []slog.Attr // that all its lines have, for the tail
	group string      // of the attributes that come, with a dot behind it
	desk  *desk
}

// Stats counts lines. Lines is the number of written lines; the others were not written.
type Stats struct {
	Lines   uint64
	Limited uint64 // lines of a kind that came too often
	Dropped uint64 // lines for which the buffer was full
	Waiting int    // lines that wait to be written
}

// desk is where lines wait.
type desk struct {
	root  slog.Handler
	level atomic.Pointer[slog.Level] // nil: that of root

	mu      sync.Mutex
	waiting []line        // bounded by maxWaiting: the newest are dropped
	done    chan struct{} // closed when the goroutine ends; nil if there is none
	kinds   map[kind]*tally
	stats   Stats
	told    uint64 // how many of stats.Dropped were reported
	tail    tail
}

type line struct {
	to     *Handler
	record slog.Record
}

// kind is what lines of the same kind have in common.
type kind struct {
	proto, message string
	level          slog.Level
}

// tally is a ring of the times of the last lines of a kind, and the number of lines left out since the
// last.
type tally struct {
	times   [perKind]time.Time
	next    int
	leftOut uint64
}

// New returns a handler that passes its lines to next. If next is a Handler already, New returns it.
func New(next slog.Handler) *Handler {
	if h, ok := next.(*Handler); ok {
		return h
	}
	return &Handler{next: next, desk: &desk{root: next, kinds: map[kind]*tally{}}}
}

// Enabled reports whether lines of a level are written: as SetLevel says, or else as next does.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	if set := h.desk.level.Load(); set != nil {
		return level >= *set
	}
	return h.next.Enabled(ctx, level)
}

// SetLevel has lines of a level and above written from now on, whatever next would choose. It is for all handlers that share the
// buffer.
func (h *Handler) SetLevel(level slog.Level) { h.desk.level.Store(&level) }

// Level returns the lowest of slog's levels that is written; above LevelError if none is.
func (h *Handler) Level() slog.Level {
	if set := h.desk.level.Load(); set != nil {
		return *set
	}
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if h.next.Enabled(context.Background(), level) {
			return level
		}
	}
	return slog.LevelError + 1
}

// Handle puts a line into the buffer.
func (h *Handler) Handle(_ context.Context, r slog.Record) error {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	leftOut, ok := h.desk.admit(r.Time, kind{h.proto, r.Message, r.Level})
	if !ok {
		return nil
	}
	clean := slog.NewRecord(r.Time, r.Level, plainText("", r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(plainAttr(a))
		return true
	})
	if leftOut > 0 {
		clean.AddAttrs(slog.Uint64("left_out", leftOut))
	}
	h.desk.mu.Lock()
	defer h.desk.mu.Unlock()
	h.desk.put(line{h, clean})
	return nil
}

// WithAttrs returns a handler that adds attributes to its lines.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	x := *h
	plain := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		plain[i] = plainAttr(a)
		if a.Key == "proto" {
			x.proto = a.Value.String()
		}
		x.attrs = append(x.attrs[:len(x.attrs):len(x.attrs)], slog.Attr{Key: h.group + a.Key, Value: plain[i].Value})
	}
	x.next = h.next.WithAttrs(plain)
	return &x
}

// WithGroup returns a handler whose lines have their attributes in a group.
func (h *Handler) WithGroup(name string) slog.Handler {
	x := *h
	x.next = h.next.WithGroup(name)
	if name != "" {
		x.group = h.group + name + "."
	}
	return &x
}

// Stats returns the counters of all handlers that share the buffer.
func (h *Handler) Stats() Stats {
	d := h.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.stats
	s.Waiting = len(d.waiting)
	return s
}

// Flush waits until all lines are written, including the reports of dropped lines, but not longer than patience: a
// program must end even if nobody reads its log. It reports whether all were written.
func (h *Handler) Flush(patience time.Duration) bool {
	h.desk.tellLeftOut()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		h.desk.mu.Lock()
		done := h.desk.done
		h.desk.mu.Unlock()
		if done == nil {
			return true
		}
		select {
		case <-done:
		case <-timer.C:
			return false
		}
	}
}

// admit reports whether one more line of a kind may be written, and how many were left out before it.
func (d *desk) admit(now time.Time, k kind) (leftOut uint64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.kinds[k]
	if t == nil {
		if len(d.kinds) >= maxKinds {
			k = kind{}
			t = d.kinds[k]
		}
		if t == nil {
			t = new(tally)
			d.kinds[k] = t
		}
	}
	if first := t.times[t.next]; !first.IsZero() && now.Sub(first) < span {
		t.leftOut++
		d.stats.Limited++
		return 0, false
	}
	t.times[t.next] = now
	t.next = (t.next + 1) % perKind
	leftOut, t.leftOut = t.leftOut, 0
	return leftOut, true
}

// tellLeftOut adds a line for each kind of which lines were left out since its last.
func (d *desk) tellLeftOut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, t := range d.kinds {
		if t.leftOut > 0 {
			r := slog.NewRecord(time.Now(), k.level, "log lines were left out", 0)
			r.AddAttrs(slog.String("proto", k.proto), slog.String("line", plainText("", k.message)), slog.Uint64("left_out", t.leftOut))
			t.leftOut = 0
			d.put(line{d.scribe(), r})
		}
	}
}

// scribe returns the handler of lines that are the desk's own.
func (d *desk) scribe() *Handler { return &Handler{next: d.root, desk: d} }

// put adds a line to the buffer. d.mu is held.
func (d *desk) put(l line) {
	d.tail.add(l)
	if len(d.waiting) >= maxWaiting {
		d.stats.Dropped++
		return
	}
	d.waiting = append(d.waiting, l)
	if d.done == nil {
		d.done = make(chan struct{})
		go d.write()
	}
}

// write writes lines until there are none left.
func (d *desk) write() {
	for {
		l, ok := d.take()
		if !ok {
			return
		}
		if l.to.Enabled(context.Background(), l.record.Level) {
			l.to.next.Handle(context.Background(), l.record) // an error could not be logged anyway
		}
	}
}

// take returns the next line to write. Once all are written it returns a line that reports dropped lines,
// if there are any.
func (d *desk) take() (l line, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) > 0 {
		l = d.waiting[0]
		d.waiting[0] = line{}
		d.waiting = d.waiting[1:]
		d.stats.Lines++
		return l, true
	}
	d.waiting = nil
	if lost := d.stats.Dropped - d.told; lost > 0 {
		d.told = d.stats.Dropped
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines were dropped: nobody read them in time", 0)
		r.AddAttrs(slog.Uint64("lines", lost))
		return line{d.scribe(), r}, true
	}
	close(d.done)
	d.done = nil
	return l, false
}

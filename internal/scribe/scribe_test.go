package scribe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/kit/chance"
	"parley/internal/patient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newRand(t *testing.T) *rand.Rand { return chance.Rand(t, rand.Uint64()) }

// patience ends a test that would else hang.
const patience = 30 * time.Second

// page is a handler that keeps lines, and that can be stuck.
type page struct {
	slog.Handler
	stuck  chan struct{} // nil: never
	writes chan struct{} // told when it is stuck

	mu   sync.Mutex
	text bytes.Buffer
}

func newPage() *page {
	p := new(page)
	p.Handler = slog.NewTextHandler(p, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return p
}

func (p *page) Write(b []byte) (int, error) {
	if p.stuck != nil {
		select {
		case p.writes <- struct{}{}:
		default:
		}
		patient.Value(p.stuck)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func flush(t *testing.T, h *Handler) {
	t.Helper()
	if !h.Flush(patience) {
		t.Fatal("not all lines were written")
	}
}

// at makes a line of a time.
func at(when time.Time, message string) slog.Record {
	return slog.NewRecord(when, slog.LevelInfo, message, 0)
}

// 15.9: a log that nobody reads keeps nobody waiting, and what did not fit is counted and told.
func TestALogThatNobodyReads(t *testing.T) {
	const lines = 5000
	p := newPage()
	p.stuck, p.writes = make(chan struct{}), make(chan struct{}, 1)
	h := New(p)
	now := time.Now()
	for i := range lines { // it would wait here for ever
		h.Handle(context.Background(), at(now.Add(time.Duration(i)*time.Second), "hello"))
		if i == 0 { // the writer has it in hand, and takes no other between the last line and the count
			patient.Value(p.writes)
		}
	}
	s := h.Stats()
	if s.Lines != 1 || s.Waiting != maxWaiting || s.Dropped != lines-s.Lines-maxWaiting || s.Limited != 0 {
		t.Errorf("%+v", s)
	}
	if h.Flush(time.Millisecond) {
		t.Error("all is written, and nobody reads")
	}
	close(p.stuck)
	flush(t, h)
	text := p.String()
	want := fmt.Sprintf("level=WARN msg=\"log lines were dropped: nobody read them in time\" lines=%d\n", s.Dropped)
	if !strings.HasSuffix(text, "msg=hello\n"+want) || strings.Count(text, "\n") != lines-int(s.Dropped)+1 {
		t.Errorf("%d lines, and the last are %q", strings.Count(text, "\n"), text[max(0, len(text)-200):])
	}
}

// 15.9: strangers' deeds are at most ten lines a second a kind.
func TestTenLinesASecondOfAKind(t *testing.T) {
	rng := newRand(t)
	p := newPage()
	h := New(p)
	var written []time.Time
	start := time.Now()
	now, in, told := start, 0, uint64(0)
	for now.Sub(start) < time.Minute || in < 500 { // a minute of steps alone came to less than ten in each second for 3% of the seeds
		pace := []time.Duration{time.Millisecond, 50 * time.Millisecond, 2 * time.Second}[in/20%3]
		now = now.Add(time.Duration(rng.Int64N(int64(pace))))
		in++
		leftOut, ok := h.desk.admit(now, kind{message: "left"})
		if ok {
			written, told = append(written, now), told+leftOut
		}
	}
	for i := range written {
		if i >= perKind && written[i].Sub(written[i-perKind]) < time.Second {
			t.Fatalf("eleven lines within %v", written[i].Sub(written[i-perKind]))
		}
	}
	if got := h.Stats().Limited; got == 0 || int(got)+len(written) != in || told > got {
		t.Errorf("%d came, %d were written, %d counted as left out, %d told", in, len(written), got, told)
	}
	// Another kind has its own ten, and so have the lines of another dialect.
	if _, ok := h.desk.admit(now, kind{message: "joined"}); !ok {
		t.Error("kinds share a count")
	}
}

// A flood of one kind is told of once it is over, and at the end.
func TestWhatWasLeftOutIsTold(t *testing.T) {
	p := newPage()
	h := New(p)
	relay := h.WithAttrs([]slog.Attr{slog.String("proto", "relay")})
	now := time.Now()
	for range 1000 {
		relay.Handle(context.Background(), at(now, "left"))
	}
	h.Handle(context.Background(), at(now, "left")) // another dialect's
	relay.Handle(context.Background(), at(now.Add(time.Second), "left"))
	for range 100 {
		relay.Handle(context.Background(), at(now.Add(time.Second), "left"))
	}
	flush(t, h)
	want := strings.Repeat("level=INFO msg=left proto=relay\n", 10) + "level=INFO msg=left\n" +
		"level=INFO msg=left proto=relay left_out=990\n" + strings.Repeat("level=INFO msg=left proto=relay\n", 9) +
		"level=INFO msg=\"log lines were left out\" proto=relay line=left left_out=91\n"
	if got := p.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if s := h.Stats(); s.Lines != 22 || s.Limited != 990+91 {
		t.Errorf("%+v", s)
	}
}

type secretive struct{ name *string }

func (s *secretive) String() string { return *s.name }
func (s *blank) Error() string      { return s.why }

type blank struct{ why string }

// 15.13: strangers' words are plain in a log, whatever handler writes it, and what is logged is what was there then.
func TestWordsOfStrangers(t *testing.T) {
	p := newPage()
	var json bytes.Buffer
	name := "ann"
	for _, next := range []slog.Handler{p, slog.NewJSONHandler(&json, nil)} {
		h := New(next)
		log := slog.New(h).With("proto", "x\x1by")
		shown := &secretive{&name}
		log.Info("le\nft", "name", "\x1b[31mann\u202e", "error", errors.New("bad\r\n2026 msg=fine"), "peer", netip.MustParseAddrPort("[::1]:7"),
			"shown", shown, "nobody", (*blank)(nil), "n", slog.LevelWarn, slog.Group("g", "text", "\u2066x"), "long", strings.Repeat("é", 4000), "stack", "a\n\tb")
		name = "changed later" // by the loop, while another goroutine writes
		flush(t, h)
		name = "ann"
	}
	got := p.String()
	for _, want := range []string{"proto=x·y ", "msg=le·ft ", "name=·[31mann· ", `error="bad··2026 msg=fine"`, "peer=[::1]:7 ", "shown=ann ", "nobody=(unprintable) ", "n=WARN", "g.text=·x ", `stack="a\n\tb"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing from %s", want, got)
		}
	}
	if strings.Count(got, "é") != maxValueBytes/2 {
		t.Errorf("a long name has %d letters", strings.Count(got, "é"))
	}
	if text := json.String(); strings.ContainsAny(text, "\x1b\u202e\u2066") || strings.Contains(text, `\u001b`) || strings.Contains(text, "changed") {
		t.Errorf("%s", text)
	}
}

// Many loops log at once: no line is lost without being counted.
func TestManyLoops(t *testing.T) {
	const loops, each = 8, 2000
	p := newPage()
	h := New(p)
	var wg sync.WaitGroup
	for i := range loops {
		wg.Go(func() {
			log := slog.New(h).With("loop", i)
			for range each {
				log.Info("round")
			}
		})
	}
	patient.Done(wg.Wait)
	flush(t, h)
	s := h.Stats()
	if s.Lines+s.Limited+s.Dropped < loops*each || s.Waiting != 0 || s.Limited == 0 {
		t.Errorf("%+v of %d", s, loops*each)
	}
	if New(h) != h {
		t.Error("a handler is wrapped twice")
	}
}

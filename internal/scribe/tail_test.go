package scribe

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestTheLevelCanBeSetWhileTheServerRuns(t *testing.T) {
	p := newPage()
	h := New(p)
	log := slog.New(h).With("proto", "relay")
	log.Debug("unseen")
	if h.Level() != slog.LevelInfo {
		t.Errorf("the level is %v, want that of the handler behind: INFO", h.Level())
	}
	h.SetLevel(slog.LevelDebug)
	log.Debug("seen")
	h.SetLevel(slog.LevelError)
	log.Info("unseen too")
	if h.Level() != slog.LevelError || log.Enabled(context.Background(), slog.LevelWarn) {
		t.Errorf("the level is %v, want ERROR", h.Level())
	}
	h.SetLevel(slog.LevelInfo) // else the line that is not written yet would be left out
	log.Info("seen again")
	flush(t, h)
	want := "level=INFO msg=\"seen again\" proto=relay\n"
	if got := p.String(); !strings.HasSuffix(got, want) || strings.Contains(got, "unseen") {
		t.Errorf("the log is\n%swant at its end\n%s", got, want)
	}
	var tail []string
	for _, l := range h.Tail() {
		tail = append(tail, l.Level.String()+" "+l.Text)
	}
	if got, want := strings.Join(tail, "\n"), "DEBUG seen proto=relay\nINFO seen again proto=relay"; got != want {
		t.Errorf("the tail is\n%s\nwant\n%s", got, want)
	}
}

func TestTheTailHasTheNewestLines(t *testing.T) {
	p := newPage()
	p.stuck, p.writes = make(chan struct{}), make(chan struct{}, 1) // nobody reads the log itself
	h := New(p)
	log := slog.New(h).WithGroup("g").With("a", 1).WithGroup("").WithGroup("h")
	const lines = 3*tailLines + 7
	for i := range lines {
		r := at(time.Unix(int64(i), 0), fmt.Sprintf("line %d", i%200)) // of different kinds
		r.AddAttrs(slog.String("text", "two words"), slog.Attr{}, slog.Group("in", slog.Int("i", i)))
		log.Handler().Handle(context.Background(), r)
	}
	tail := h.Tail()
	if len(tail) != tailLines {
		t.Fatalf("the tail has %d lines, want %d", len(tail), tailLines)
	}
	for i, l := range tail {
		n := lines - tailLines + i
		want := Line{time.Unix(int64(n), 0), slog.LevelInfo, fmt.Sprintf(`line %d g.a=1 g.h.text="two words" g.h.in.i=%d`, n%200, n)}
		if l != want {
			t.Fatalf("line %d of the tail is\n%v\nwant\n%v", i, l, want)
		}
	}
	log.Handler().Handle(context.Background(), func() slog.Record {
		r := at(time.Unix(lines, 0), strings.Repeat("long ", 1000))
		return r
	}())
	if last := h.Tail()[tailLines-1]; len(last.Text) > maxLineBytes+len("…") {
		t.Errorf("a line of the tail has %d bytes", len(last.Text))
	}
	close(p.stuck)
	flush(t, h)
}

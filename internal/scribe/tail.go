package scribe

import (
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// Line is a line of the log, for somebody who looks at the newest.
type Line struct {
	Time  time.Time
	Level slog.Level
	Text  string // the message, and the attributes as key=value
}

// tail is a ring of the newest lines. They are made text when somebody looks.
type tail struct {
	lines [tailLines]line
	next  int
	full  bool
}

func (t *tail) add(l line) {
	t.lines[t.next] = l
	if t.next++; t.next == len(t.lines) {
		t.next, t.full = 0, true
	}
}

// Tail returns the newest lines, at most 256, the oldest first: also those that nobody has read from the handler's next.
func (h *Handler) Tail() []Line {
	h.desk.mu.Lock()
	t := h.desk.tail
	h.desk.mu.Unlock()
	var list []Line
	if t.full {
		list = appendLines(list, t.lines[t.next:])
	}
	return appendLines(list, t.lines[:t.next])
}

func appendLines(list []Line, lines []line) []Line {
	for _, l := range lines {
		var b strings.Builder
		b.WriteString(l.record.Message)
		for _, a := range l.to.attrs {
			appendAttr(&b, "", a)
		}
		l.record.Attrs(func(a slog.Attr) bool {
			appendAttr(&b, l.to.group, a)
			return b.Len() < maxLineBytes
		})
		text := b.String()
		if len(text) > maxLineBytes {
			text = strings.ToValidUTF8(text[:maxLineBytes], "") + "…"
		}
		list = append(list, Line{l.record.Time, l.record.Level, text})
	}
	return list
}

func appendAttr(b *strings.Builder, group string, a slog.Attr) {
	switch {
	case a.Equal(slog.Attr{}): // which means nothing
	case a.Value.Kind() == slog.KindGroup:
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, x := range a.Value.Group() {
			appendAttr(b, group, x)
		}
	default:
		b.WriteString(" " + group + a.Key + "=")
		if text := a.Value.String(); text == "" || strings.ContainsAny(text, " \"=\n\t") {
			b.WriteString(strconv.Quote(text))
		} else {
			b.WriteString(text)
		}
	}
}

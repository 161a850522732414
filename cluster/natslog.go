package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// natsLog writes what the server of NATS in this process says to the node's log. Its notices are of no use to operators in normal times. It
// says the same of a node that is away each second and for each connection: of many lines the rest is left out.
type natsLog struct {
	to    *slog.Logger
	fails chan<- string // gets what it says when it cannot write

	mu    sync.Mutex
	began time.Time
	lines int
}

func (l *natsLog) say(level slog.Level, format string, v []any) {
	l.mu.Lock()
	now := time.Now()
	if now.Sub(l.began) > logSpan {
		l.began, l.lines = now, 0
	}
	l.lines++
	over := l.lines > maxLogLines
	l.mu.Unlock()
	if !over {
		l.to.Log(context.Background(), level, "NATS: "+fmt.Sprintf(format, v...))
	}
}

func (l *natsLog) Noticef(format string, v ...any) { l.to.Debug("NATS: " + fmt.Sprintf(format, v...)) }

func (l *natsLog) Errorf(format string, v ...any) {
	l.say(slog.LevelWarn, format, v)
	if strings.Contains(format, "Critical write error") {
		select {
		case l.fails <- fmt.Sprintf(format, v...):
		default: // it is known
		}
	}
}

// Warnf leaves out what NATS says of our password, which is random and leaves no process.
func (l *natsLog) Warnf(format string, v ...any) {
	if !strings.HasPrefix(format, "Plaintext passwords") {
		l.say(slog.LevelInfo, format, v)
	}
}

// Fatalf does not end the process, as NATS' own log does: what it speaks of comes back as an error, or ends the store's part alone.
func (l *natsLog) Fatalf(format string, v ...any) { l.say(slog.LevelError, format, v) }
func (l *natsLog) Debugf(string, ...any)          {}
func (l *natsLog) Tracef(string, ...any)          {}

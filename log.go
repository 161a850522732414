package parley

import (
	"context"
	"log/slog"
	"time"
)

// LogLine is a line of the server's log.
type LogLine struct {
	Time  time.Time
	Level slog.Level
	Text  string // the message, and its attributes as key=value
}

// LogTail returns the newest lines of the log, at most 256, the oldest first.
func (s *Server) LogTail() []LogLine {
	var list []LogLine
	for _, l := range s.log.Tail() {
		list = append(list, LogLine(l))
	}
	return list
}

// SetLogLevel has the server log lines of a level and above from now on, whatever level Config.Log was set up with.
func (s *Server) SetLogLevel(level slog.Level) {
	s.log.SetLevel(level)
	s.Log().Log(context.Background(), level, "the log has a new level", "level", level)
}

// LogLevel returns the lowest level of which lines are logged.
func (s *Server) LogLevel() slog.Level { return s.log.Level() }

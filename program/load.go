package program

import (
	"runtime"
	"time"
)

// load is how much of this machine's processors the process uses.
type load struct {
	at   time.Time
	used time.Duration
}

func newLoad() *load { return &load{time.Now(), processTime()} }

// since returns the share of all processors that was used since the last call, 0 to 1.
func (l *load) since() float64 {
	now, used := time.Now(), processTime()
	took, spent := now.Sub(l.at), used-l.used
	if took < time.Millisecond { // too short to be measured
		return 0
	}
	l.at, l.used = now, used
	return min(max(float64(spent)/float64(took)/float64(runtime.NumCPU()), 0), 1)
}

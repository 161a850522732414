package stream

import (
	"sync"
	"time"

	"parley/internal/turns"
)

// Loop is a goroutine that owns a server core and calls its turn function. Its methods may be
// called by any goroutine, except where noted.
type Loop struct {
	turn func(now time.Time) (next time.Time, ok bool)
	wake chan struct{} // holds one

	owner turns.Owner // of the core

	mu      sync.Mutex
	room    sync.Cond
	pending []func()
	running []func()
	stopped bool

	done chan struct{}
}

// NewLoop returns a loop that calls turn when it is woken, after functions of Post or Do have
// run, and at the time that the last turn returned.
func NewLoop(turn func(now time.Time) (next time.Time, ok bool)) *Loop {
	l := &Loop{turn: turn, wake: make(chan struct{}, 1), done: make(chan struct{})}
	l.room.L = &l.mu
	return l
}

// Run starts the loop. Call it once.
func (l *Loop) Run() { go l.run() }

// Wake makes the loop take a turn soon. No wake is lost, and none blocks.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Post queues fn to run on the loop, and returns. The caller must bound how many functions
// wait. If Post returns ErrClosed, fn does not run.
func (l *Loop) Post(fn func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.accept(fn)
}

// Do runs fn on the loop and returns when it has run. While too many functions wait, Do waits.
// The loop itself must not call it. If Do returns ErrClosed, fn does not run.
func (l *Loop) Do(fn func()) error {
	ran := make(chan struct{})
	l.mu.Lock()
	for len(l.pending) >= maxCommands && !l.stopped {
		l.room.Wait()
	}
	err := l.accept(func() {
		defer close(ran)
		fn()
	})
	l.mu.Unlock()
	if err == nil {
		<-ran
	}
	return err
}

// Visit runs fn in the calling goroutine between two turns of the loop, and makes the loop take
// a turn soon, which sends the core's output. The loop waits for fn, which must be short. A
// second visitor waits for the turn after the first. Neither the loop itself nor fn may call
// Visit. If it returns ErrClosed, fn does not run.
func (l *Loop) Visit(fn func()) error {
	ok := l.owner.Visit(func() (done bool) {
		fn()
		return false
	})
	if !ok {
		return ErrClosed
	}
	l.Wake()
	return nil
}

// accept queues fn. l.mu is held.
func (l *Loop) accept(fn func()) error {
	if l.stopped {
		return ErrClosed
	}
	l.pending = append(l.pending, fn)
	l.Wake()
	return nil
}

// Stop asks the loop to end and returns. Accepted functions run, and one last turn is taken.
func (l *Loop) Stop() {
	l.mu.Lock()
	l.stopped = true
	l.room.Broadcast()
	l.mu.Unlock()
	l.Wake()
}

// Done returns a channel that is closed when the loop has ended.
func (l *Loop) Done() <-chan struct{} { return l.done }

func (l *Loop) run() {
	defer close(l.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next, ok, stopped := l.around()
		if stopped {
			return
		}
		sleep := time.Hour
		if ok {
			sleep = max(time.Until(next), 0)
		}
		timer.Reset(sleep)
		select {
		case <-l.wake:
		case <-timer.C:
		}
	}
}

// around takes one turn, as the owner of the core.
func (l *Loop) around() (next time.Time, ok, stopped bool) {
	l.mu.Lock()
	stopped = l.stopped
	l.mu.Unlock()
	l.owner.Begin(stopped)
	defer l.owner.End()
	l.commands()
	next, ok = l.turn(time.Now())
	return next, ok, stopped
}

// commands runs the functions that wait. After the last turn, all accepted functions have run.
func (l *Loop) commands() {
	l.mu.Lock()
	l.pending, l.running = l.running[:0], l.pending
	l.room.Broadcast()
	l.mu.Unlock()
	for i, fn := range l.running {
		l.running[i] = nil
		fn()
	}
}

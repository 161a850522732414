package datagram

// Post queues fn to run on the loop's goroutine, between datagrams and timeouts. An accepted command
// runs once, in the order of acceptance, even if the loop is closed meanwhile. The error is ErrQueueFull
// or ErrClosed.
func (l *Loop) Post(fn func()) error {
	l.mu.Lock()
	if l.stopped {
		l.mu.Unlock()
		return ErrClosed
	}
	if len(l.pending) >= l.config.Commands {
		l.mu.Unlock()
		l.counts.queueFull.Add(1)
		return ErrQueueFull
	}
	l.accept(fn)
	return nil
}

// Do runs fn on the loop's goroutine and returns when it has run. While the queue is full it waits. The
// loop's own callbacks must not call it. If Do returns ErrClosed, fn does not run.
func (l *Loop) Do(fn func()) error {
	l.mu.Lock()
	for len(l.pending) >= l.config.Commands && !l.stopped {
		l.room.Wait()
	}
	if l.stopped {
		l.mu.Unlock()
		return ErrClosed
	}
	ran := make(chan struct{})
	l.accept(func() {
		defer close(ran)
		fn()
	})
	<-ran
	return nil
}

// Visit runs fn in the calling goroutine, between two turns of the loop. It then sends the core's output
// itself, if that is little and LoopConfig.Calm reports that there is nothing else to do. Otherwise the
// loop takes a turn soon. Visit waits for the end of the present turn, and the loop waits for fn, which
// must be short. A second visitor waits until the output of the first is sent, so that unsent output
// cannot pile up. Unlike Do, it need not wake a sleeping loop, so a game's tick uses it to reach many
// loops. Neither the loop's own callbacks nor fn may call it. If Visit returns ErrClosed, fn does not
// run.
func (l *Loop) Visit(fn func()) error {
	sleepsOn := false
	ok := l.owner.Visit(func() (sent bool) {
		l.config.Lock.Lock()
		defer l.config.Lock.Unlock()
		fn()
		sent, sleepsOn = l.settle()
		return sent
	})
	if !ok {
		return ErrClosed
	}
	if !sleepsOn {
		l.carrier.Wake()
	}
	return nil
}

// settle sends a visitor's output, if that is little. It reports whether all is sent, and
// whether the loop can sleep on.
func (l *Loop) settle() (sent, sleepsOn bool) {
	if l.config.Calm == nil || !l.config.Calm() {
		return false, false
	}
	if _, more := l.transmit(MaxVisitTransmits, false); more {
		return false, false
	}
	at, waits := l.core.NextTimeout()
	return true, !waits || !l.until.IsZero() && !at.Before(l.until)
}

// accept queues fn and unlocks l.mu, which the caller holds.
func (l *Loop) accept(fn func()) {
	l.pending = append(l.pending, fn)
	l.posted.Store(true)
	l.mu.Unlock()
	l.carrier.Wake()
}

// runCommands runs the commands that wait now and reports whether there were any. Commands that they
// post wait for the next turn.
func (l *Loop) runCommands() bool {
	if !l.posted.Load() {
		return false
	}
	l.mu.Lock()
	l.pending, l.running = l.running[:0], l.pending
	l.posted.Store(false)
	l.room.Broadcast()
	l.mu.Unlock()
	for i, fn := range l.running {
		l.running[i] = nil
		fn()
	}
	l.counts.commands.Add(uint64(len(l.running)))
	return true
}

package datagram

import "time"

// Run moves datagrams until the loop is closed or the carrier fails. StartLoop calls it on a goroutine of its own.
func (l *Loop) Run() {
	err := l.carrier.Serve(l.turn)
	// When the carrier failed, accepted commands are still run, so that no caller
	// waits in Do for ever.
	l.mu.Lock()
	l.stopped = true
	l.room.Broadcast()
	l.mu.Unlock()
	l.owner.Begin(true)
	l.config.Lock.Lock()
	l.runCommands()
	l.config.Lock.Unlock()
	l.owner.End()
	if closeErr := l.carrier.Close(); err == nil {
		err = closeErr
	}
	l.err = err
	if l.config.Ended != nil {
		l.config.Lock.Lock()
		l.config.Ended(err)
		l.config.Lock.Unlock()
	}
	close(l.done)
}

// turn runs one turn, or several when the batch is larger than a turn may be. The clock
// is read once for each.
func (l *Loop) turn(in *RecvBatch, woken bool) (Next, time.Time) {
	if woken {
		l.counts.wakes.Add(1)
	}
	last := l.closing.Load()
	l.owner.Begin(last)
	defer l.owner.End()
	l.config.Lock.Lock()
	defer l.config.Lock.Unlock()
	for {
		now := time.Now()
		worked := in.More()
		l.handle(now, in)
		worked = l.runCommands() || worked
		if at, ok := l.core.NextTimeout(); ok && !at.After(now) {
			l.counts.timeouts.Add(1)
			l.core.HandleTimeout(now)
		}
		if l.config.AfterTurn != nil {
			l.config.AfterTurn(now)
		}
		sent, more := l.transmit(MaxTurnTransmits, true)
		l.counts.turns.Add(1)
		switch {
		case in.More():
		case last:
			return l.finish(more)
		default:
			return l.decide(now, worked || sent, more)
		}
	}
}

// handle gives the core as many datagrams as one turn may take, but none of a banned address.
func (l *Loop) handle(now time.Time, in *RecvBatch) {
	for range l.config.TurnDatagrams {
		m := in.Next()
		if m == nil {
			return
		}
		if m.Gone {
			if core, ok := l.core.(Mourner); ok {
				core.HandleGone(now, m.From)
			}
			continue
		}
		if !l.config.Door.Shuts(now, m.From.Addr()) {
			l.core.HandleDatagram(now, m.From, m.Data)
		}
	}
}

// transmit sends the core's output, up to most datagrams. more reports that the bound was
// reached. inTurn is set inside a turn, and not for a visitor.
func (l *Loop) transmit(most int, inTurn bool) (sent, more bool) {
	for range most {
		buf := l.out.Free()
		if buf == nil {
			l.write(inTurn)
			buf = l.out.Free()
		}
		n, to, ok := l.core.PollTransmit(buf)
		if !ok {
			l.write(inTurn)
			return sent, false
		}
		l.out.Commit(n, to)
		sent = true
	}
	l.write(inTurn)
	return sent, true
}

// write sends the batch, without the lock. A closed carrier also ends Serve, which is where the loop learns of it.
func (l *Loop) write(inTurn bool) {
	if l.out.Len() == 0 {
		return
	}
	l.config.Lock.Unlock()
	if inTurn {
		_ = l.carrier.WriteInTurn(l.out)
	} else {
		_ = l.carrier.Write(l.out)
	}
	l.config.Lock.Lock()
}

// decide returns how long to wait, and notes it for visitors.
func (l *Loop) decide(now time.Time, worked, more bool) (Next, time.Time) {
	what, until := l.judge(now, worked, more)
	l.until = until
	return what, until
}

func (l *Loop) judge(now time.Time, worked, more bool) (Next, time.Time) {
	if worked {
		l.stuck = 0
	}
	if more {
		return Again, time.Time{}
	}
	at, ok := l.core.NextTimeout()
	switch {
	case !ok:
		return Wait, time.Time{}
	case at.After(now):
		l.stuck = 0
		return Wait, at
	}
	// Another turn is due at once, but not for ever: see MaxStuckTurns.
	if l.stuck++; l.stuck <= MaxStuckTurns {
		return Again, time.Time{}
	}
	l.counts.stuckTimers.Add(1)
	return Wait, now.Add(StuckPause)
}

// finish sends the core's remaining output when the loop ends.
func (l *Loop) finish(more bool) (Next, time.Time) {
	for i := 0; more && i < MaxFinalTurns; i++ {
		_, more = l.transmit(MaxTurnTransmits, true)
	}
	return Stop, time.Time{}
}

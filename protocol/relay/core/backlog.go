package core

import (
	"time"

	"parley/internal/queue"
	"parley/internal/roster"
)

// backlog are the reliable packages to a peer that wait for the window: those of each sender in a line of
// its own, and our own in another. The lines take turns, by bytes, so that nobody waits behind what another
// sends; the order of one sender's packages is kept. A sender whose line is full has to wait: what it
// sends is not taken, and in the end not confirmed. The zero value is empty.
type backlog struct {
	count int32
	held  int32 // bytes
	*lines
}

// lines is what a backlog needs that is not empty.
type lines struct {
	of     map[*Peer]*line
	turns  queue.Fifo[*line] // those with packages
	slow   int               // lines that were full and are more than half full since
	taken  int               // bytes that the window took since there are lines
	lookAt time.Time         // when to see whether the peer is too slow for its senders
}

// line is what waits of one sender.
type line struct {
	from      *Peer // nil: our own
	queue     queue.Fifo[outgoing]
	held      int
	spent     int       // bytes of this turn
	full      bool      // its sender has to wait
	slow      bool      // it was full, and is more than half full since
	slowSince time.Time // and these are as they were then:
	takenThen int       // lines.taken
	saidThen  uint64    // packages that came from the sender and were taken
}

// Len returns how many packages wait.
func (b *backlog) Len() int { return int(b.count) }

// ownHeld returns the bytes of our own packages.
func (b *backlog) ownHeld() int {
	if b.count == 0 {
		return 0
	}
	if l := b.of[nil]; l != nil {
		return l.held
	}
	return 0
}

// push puts a package into the line of its sender. Each sender has an equal share of a backlog; past that it waits.
func (e *Endpoint) push(now time.Time, o outgoing, from *Peer) {
	b := &e.backlog
	if b.lines == nil {
		b.lines = e.shared.takeLines()
	}
	l := b.of[from]
	if l == nil {
		l = e.shared.takeLine()
		l.from = from
		b.of[from] = l
		b.turns.Push(l)
	}
	if o.payload != nil {
		o.payload.Retain()
	}
	l.queue.Push(o)
	n := o.held()
	l.held += n
	b.held += int32(n)
	b.count++
	if from == nil || l.full || l.held < from.shareOf(e.rules) && int(b.held) < e.rules.MaxBacklog {
		return
	}
	l.full = true
	from.waitsFor++
	if l.slow {
		return
	}
	l.slow = true
	l.measure(now, b.taken)
	if b.slow++; b.slow == 1 {
		b.lookAt = now.Add(slowAfter)
	}
}

// measure begins to watch how fast a line moves.
func (l *line) measure(now time.Time, taken int) {
	l.slowSince, l.takenThen, l.saidThen = now, taken, l.from.said()
}

// said returns how many reliable packages of the peer were taken.
func (p *Peer) said() uint64 {
	if p.isRemote() {
		return p.Value.(*Remote).taken
	}
	return p.end.receiver.Stats().Delivered + uint64(p.end.receiver.Waiting())
}

// shareOf returns how many bytes of the peer's packages may wait for one receiver.
func (p *Peer) shareOf(r *Rules) int {
	if p.room == nil {
		return r.MaxBacklog / 2
	}
	return r.MaxBacklog / 2 / p.room.others()
}

// pump moves what waits into the engine.
func (e *Endpoint) pump(now time.Time) {
	b := &e.backlog
	for b.count > 0 {
		l := *b.turns.First()
		o := l.queue.First()
		if !e.toEngine(now, o) {
			return
		}
		n := o.held()
		l.held -= n
		l.spent += n
		b.held -= int32(n)
		b.taken += n
		b.count--
		e.release(l.queue.Pop())
		l.queue.Trim()
		if l.slow {
			e.ease(l)
		}
		switch {
		case l.queue.Len() == 0:
			b.turns.Pop()
			e.retire(l)
		case l.spent >= MaxDatagram:
			l.spent = 0
			b.turns.Push(b.turns.Pop())
		}
	}
	e.leaveBacklog()
}

// ease lets the sender of a line go on when there is room for a few packages: it has to hear of us every few seconds, however
// slowly its line moves.
func (e *Endpoint) ease(l *line) {
	b, share := &e.backlog, l.from.shareOf(e.rules)
	if l.full && (l.held <= share/2 || l.held+easeBytes <= share && int(b.held) < e.rules.MaxBacklog) {
		b.relieve(l)
	}
	if l.held <= share/2 {
		l.slow = false
		b.slow--
	}
}

// relieve lets the sender of a full line go on.
func (b *backlog) relieve(l *line) {
	l.full = false
	goesOn(l.from)
}

// goesOn notes that one less keeps a sender waiting.
func goesOn(p *Peer) {
	if p.waitsFor--; p.waitsFor == 0 && !p.isRemote() && !roster.Gone(&p.member) {
		p.port.touch(p)
	}
}

// retire lets go of a line with nothing in it.
func (e *Endpoint) retire(l *line) {
	if l.full {
		e.backlog.relieve(l)
	}
	if l.slow {
		e.backlog.slow--
	}
	delete(e.backlog.of, l.from)
	*l = line{queue: l.queue}
	e.shared.spareLines.Give(l)
}

// leaveBacklog lets go of what an empty backlog does not need.
func (e *Endpoint) leaveBacklog() {
	if b := &e.backlog; b.count == 0 && b.lines != nil {
		b.turns.Trim()
		*b.lines = lines{of: b.of, turns: b.turns}
		e.shared.spareBacklogs.Give(b.lines)
		b.lines = nil
	}
}

// dropBacklog lets go of all that waits.
func (e *Endpoint) dropBacklog() {
	b := &e.backlog
	for b.count > 0 {
		l := b.turns.Pop()
		for l.queue.Len() > 0 {
			e.release(l.queue.Pop())
			b.count--
		}
		l.queue.Trim()
		e.retire(l)
	}
	b.held = 0
	e.leaveBacklog()
}

// isTooSlow reports whether the peer keeps a sender waiting that sends no more than its part, and itself takes
// less than anybody should: then it is the peer that has to go. A sender of more than that waits as
// long as it takes.
func (e *Endpoint) isTooSlow(now time.Time) bool {
	b := &e.backlog
	if b.count == 0 || b.slow == 0 || now.Before(b.lookAt) {
		return false
	}
	b.lookAt = now.Add(slowAfter / 5)
	for i := range b.turns.Len() {
		l := *b.turns.At(i)
		waited := now.Sub(l.slowSince)
		if !l.slow || waited < slowAfter {
			continue
		}
		ms := int(waited / time.Millisecond)
		if int(l.from.said()-l.saidThen)*1000 > fairPackages*ms {
			l.from.end.seldom().refusedAt = now // or soon will be
		}
		if fair := l.from.end.rare == nil || now.Sub(l.from.end.refusedAt) >= fairAfter; fair && (b.taken-l.takenThen)*1000 < slowRate*ms {
			return true
		}
		l.measure(now, b.taken)
	}
	return false
}

func (s *Shared) takeLines() *lines {
	l, ok := s.spareBacklogs.Take()
	if !ok {
		l = &lines{of: map[*Peer]*line{}}
	}
	return l
}

func (s *Shared) takeLine() *line {
	l, ok := s.spareLines.Take()
	if !ok {
		l = new(line)
	}
	return l
}

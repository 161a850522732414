package datagram

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/bans"
	"parley/internal/turns"
)

var (
	// ErrClosed is returned by the methods of a loop that has ended.
	ErrClosed = errors.New("datagram: loop closed")

	// ErrQueueFull is returned by Post when the loop is so far behind that its
	// queue of commands is full. Nothing was queued.
	ErrQueueFull = errors.New("datagram: the loop's command queue is full")
)

// Core is the part of a server or a client that has no socket and no clock. A Loop calls
// its methods on one goroutine, over and over in this order:
//
//	HandleDatagram for each datagram that came
//	commands of other goroutines
//	HandleTimeout when the time of NextTimeout has come
//	LoopConfig.AfterTurn, which polls the core's events
//	PollTransmit until it reports false
type Core interface {
	// HandleDatagram takes one datagram. b is valid only during the call.
	HandleDatagram(now time.Time, from netip.AddrPort, b []byte)

	// HandleTimeout does what is due at now.
	HandleTimeout(now time.Time)

	// NextTimeout returns when HandleTimeout wants to be called next. It is called twice
	// a turn.
	NextTimeout() (time.Time, bool)

	// PollTransmit writes the next datagram into buf, which has room for the largest, and
	// returns its size and receiver, or false when there is none.
	PollTransmit(buf []byte) (n int, to netip.AddrPort, ok bool)
}

// Mourner is a Core that is told when a session of its carrier has ended, so that it need not find out by silence.
type Mourner interface {
	// HandleGone says that nothing comes from an address any more, and that nothing that is sent there arrives.
	HandleGone(now time.Time, from netip.AddrPort)
}

// LoopConfig says how a Loop runs. The zero LoopConfig is usable and is not
// changed after use.
type LoopConfig struct {
	// AfterTurn, if set, is called once a turn on the loop's goroutine, after datagrams,
	// commands and timeouts and before transmission. It drains the core's events and may
	// call the core.
	AfterTurn func(now time.Time)

	// Lock, if set, is held while the loop calls the core, the functions here and commands, but not while it
	// reads and writes. With it, several loops can have parts of one core.
	Lock sync.Locker

	// Calm, if set, reports whether AfterTurn would have nothing to do. Then a visitor (see
	// Loop.Visit) sends the core's output itself, and the loop is not woken for it.
	Calm func() bool

	// Ended, if set, is called last on the loop's goroutine, after the carrier was closed,
	// with the error that Err will return.
	Ended func(err error)

	// Door, if set, keeps the datagrams of banned addresses from the core, and counts them.
	Door *bans.Door

	// TurnDatagrams is how many datagrams are handled before the rest of the turn runs.
	// Default 32.
	TurnDatagrams int

	// Commands is how many commands of Post and Do may wait. Default 1,024. When that
	// many wait, Post fails and Do waits.
	Commands int
}

// Loop owns a carrier and a core, and moves datagrams between them on a single goroutine.
// Its methods may be called by any goroutine, except where noted.
type Loop struct {
	carrier Carrier
	core    Core
	config  LoopConfig

	// Owned by the loop's goroutine.
	out     *SendBatch
	running []func()
	stuck   int // turns in a row in which the core asked for a past time and did nothing

	owner turns.Owner // of the core, and of the fields above
	until time.Time   // when the next turn is due even if nothing comes; zero means never

	mu      sync.Mutex
	room    sync.Cond // on mu: pending became shorter, or the loop stopped
	pending []func()
	stopped bool        // no more commands; set once
	posted  atomic.Bool // pending is not empty
	closing atomic.Bool // the next turn is the last

	done   chan struct{}
	err    error // valid after done
	counts loopCounters
}

// LoopStats counts what a loop did.
type LoopStats struct {
	Turns       uint64 // turns taken
	Wakes       uint64 // turns that a Wake, Post, Do or Stop asked for
	Timeouts    uint64 // calls of HandleTimeout
	Commands    uint64 // commands that were run
	QueueFull   uint64 // commands that Post refused
	StuckTimers uint64 // turns delayed because the core kept asking for a past time
	Banned      uint64 // datagrams of banned addresses, which the core was not given
}

type loopCounters struct {
	turns, wakes, timeouts, commands, queueFull, stuckTimers atomic.Uint64
}

// StartLoop starts a loop over a carrier, which it owns from now on.
func StartLoop(x Carrier, core Core, c LoopConfig) *Loop {
	l := NewLoop(x, core, c)
	go l.Run()
	return l
}

// NewLoop returns a loop for Run.
func NewLoop(x Carrier, core Core, c LoopConfig) *Loop {
	if c.TurnDatagrams <= 0 {
		c.TurnDatagrams = defaultTurnDatagrams
	}
	if c.Commands <= 0 {
		c.Commands = defaultCommands
	}
	if c.Lock == nil {
		c.Lock = noLock{}
	}
	l := &Loop{
		carrier: x,
		core:    core,
		config:  c,
		out:     x.NewSendBatch(),
		done:    make(chan struct{}),
	}
	l.room.L = &l.mu
	return l
}

// noLock is the lock of a core that one loop has for itself.
type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}

// Carrier returns the loop's carrier, for its addresses and counters.
func (l *Loop) Carrier() Carrier { return l.carrier }

// Wake makes the loop run a turn soon, so that AfterTurn and PollTransmit are called. A
// program with a queue of its own calls it when the queue has something for the loop. No
// wake is lost. While the loop is busy, a wake costs an atomic load.
func (l *Loop) Wake() { l.carrier.Wake() }

// Stop asks the loop to end and does not wait. The loop's own callbacks may call it.
func (l *Loop) Stop() {
	l.mu.Lock()
	l.stopped = true
	l.closing.Store(true)
	l.room.Broadcast()
	l.mu.Unlock()
	l.carrier.Wake()
}

// Close ends the loop: accepted commands are run, the core's output is sent, the carrier
// is closed, and the goroutine ends. Close waits for all of that, so the loop's own
// callbacks must not call it. It returns the error of Err.
func (l *Loop) Close() error {
	l.Stop()
	<-l.done
	return l.err
}

// Done is closed when the loop has ended.
func (l *Loop) Done() <-chan struct{} { return l.done }

// Err returns why the loop ended by itself. It is nil while the loop runs, and after it
// was stopped.
func (l *Loop) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}

// Stats returns the loop's counters as they are now.
func (l *Loop) Stats() LoopStats {
	return LoopStats{
		Turns:       l.counts.turns.Load(),
		Wakes:       l.counts.wakes.Load(),
		Timeouts:    l.counts.timeouts.Load(),
		Commands:    l.counts.commands.Load(),
		QueueFull:   l.counts.queueFull.Load(),
		StuckTimers: l.counts.stuckTimers.Load(),
		Banned:      l.config.Door.Turned(),
	}
}

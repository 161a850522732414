package gateway

import (
	"sync"
	"time"

	"parley/play/message"
	"parley/world"
)

// ask is what a request asks for.
type ask uint8

const (
	askConsider ask = iota + 1 // what its pass is worth, before it enters
	askEnter                   // the connection is a player's from now on
	askLeave                   // the connection is over
	askSteer                   // the player's own entity, or another, is to go somewhere
	askAct                     // an action
	askSay                     // a line of chat
	askTerrain                 // a chunk
	askKnown                   // the client has acknowledged its token
	askMembers                 // who is there, from now on
	askVias                    // the same, and how each is connected
	askCorrect                 // the truth about the player's own entity
)

// request is what a packet asked of the world. It is a value, and owns what it holds; its line is
// the inbox's, and good for one tick.
type request struct {
	seat    *Seat
	ask     ask
	stamped bool          // the input has a stamp
	at      time.Duration // when an input came: see sinceStart
	tick    uint64        // of the world; 0 is now
	tag     uint32        // the dialect's own, for the answer
	stamp   message.Stamp
	number  uint64 // of the stamp, once the hub has read it; 0 without one
	shown   uint64 // the tick that was on the client's screen, if that is believed; 0 is now
	steer   world.Steering
	entity  uint16 // of steer: the number that the client knows, 0 for its own
	action  *world.Action
	params  [world.MaxParams]world.Value
	name    string // of enter
	pass    *Pass  // of consider
	bye     bool   // of leave: the client said goodbye
	line    []byte // of say
	place   world.ChunkPlace
}

// inbox is what came since the last tick, of one dialect. It also counts what was lost between the
// dialect and the hub, on either way.
type inbox struct {
	mu    sync.Mutex
	list  []request
	lines []byte // of those in list
	lost  losses
	knock chan struct{} // of the hub: somebody wants to enter

	spare      []request // what take returned last, and its lines
	spareLines []byte
}

// losses are what a dialect's players sent or should have been sent, in vain.
type losses struct {
	flood  uint64 // requests of a seat that had too many
	unread uint64 // messages that mean nothing in the game
	unsent uint64 // messages that a player's connection did not take
}

// start is before all requests.
var start = time.Now()

// sinceStart is a clock for differences. It is a third of the size of a time.Time, and cheaper to read.
func sinceStart() time.Duration { return time.Since(start) }

// put adds a request, with a copy of its line, and reports false if its seat has too many.
func (b *inbox) put(r request) bool {
	if r.ask == askSteer || r.ask == askAct {
		r.at = sinceStart()
	}
	if r.ask == askLeave && r.bye {
		r.seat.bade.Store(true)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.ask > askLeave {
		if r.seat.waiting >= maxRequests {
			b.lost.flood++
			return false
		}
		r.seat.waiting++
	}
	if len(r.line) > 0 {
		start := len(b.lines)
		b.lines = append(b.lines, r.line[:min(len(r.line), maxChat+1)]...) // what is longer is refused by its size; if that moves them, those before stay where they are
		r.line = b.lines[start:]
	}
	b.list = append(b.list, r)
	if r.ask <= askEnter {
		select {
		case b.knock <- struct{}{}:
		default: // it is told already, or does not run
		}
	}
	return true
}

// take returns what came, until the next call.
func (b *inbox) take() []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.spare)
	b.list, b.spare = b.spare[:0], b.list
	b.lines, b.spareLines = b.spareLines[:0], b.lines
	for i := range b.spare {
		b.spare[i].seat.waiting = 0
	}
	return b.spare
}

// unread counts a message that means nothing in the game.
func (b *inbox) unread() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost.unread++
}

// sent counts what a connection did not take, and reports whether it did.
func (b *inbox) sent(err error) bool {
	if err == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost.unsent++
	return false
}

func (b *inbox) losses() losses {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

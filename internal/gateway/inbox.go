package gateway

import (
	"sync"

	"parley/world"
)

// ask is what a request asks for.
type ask uint8

const (
	askEnter   ask = iota + 1 // the connection is a player's from now on
	askLeave                  // the connection is over
	askSteer                  // the player's own entity, or another, is to go somewhere
	askAct                    // an action
	askSay                    // a line of chat
	askTerrain                // a chunk
	askCorrect                // the truth about the player's own entity
)

// request is what a packet asked of the world. It is a value, and owns what it holds.
type request struct {
	seat   *Seat
	ask    ask
	tick   uint64 // of the world; 0 is now
	tag    uint32 // the dialect's own, for the answer
	steer  world.Steering
	entity uint16 // of steer: the number that the client knows, 0 for its own
	action *world.Action
	params [world.MaxParams]world.Value
	text   string // of enter the name, of say the line
	place  world.ChunkPlace
}

// inbox is what came since the last tick, of one dialect.
type inbox struct {
	mu      sync.Mutex
	list    []request
	spare   []request
	dropped uint64
}

// put adds a request, and reports false if its seat has too many.
func (b *inbox) put(r request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.ask > askLeave {
		if r.seat.waiting >= maxRequests {
			b.dropped++
			return false
		}
		r.seat.waiting++
	}
	b.list = append(b.list, r)
	return true
}

// take returns what came, until the next call.
func (b *inbox) take() []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.spare)
	b.list, b.spare = b.spare[:0], b.list
	for i := range b.spare {
		b.spare[i].seat.waiting = 0
	}
	return b.spare
}

func (b *inbox) drops() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped
}

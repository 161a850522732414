package gateway

import (
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"parley/play/message"
	"parley/world"
)

// departures are the sessions whose clients have said that they may be gone for good: a page in a browser cannot say goodbye over its connection when its
// tab is closed, and does not know whether it is closed or loaded again.
type departures struct {
	mu   sync.Mutex
	list []world.TokenHash
}

// Depart says that the client of a session may not come back: its seat is held for some seconds only, as for a page that is loaded again. A token that
// nobody has does nothing. It does not wait.
func (h *Hub) Depart(token message.Token) {
	hash := world.TokenHash(sha256.Sum256(token[:]))
	h.departs.mu.Lock()
	defer h.departs.mu.Unlock()
	if len(h.departs.list) < maxDepartures {
		h.departs.list = append(h.departs.list, hash)
	}
}

// takeDepartures does what was asked with Depart since the last turn.
func (h *Hub) takeDepartures() {
	h.departs.mu.Lock()
	list := h.departs.list
	h.departs.list = nil
	h.departs.mu.Unlock()
	for _, hash := range list {
		if r := h.sessions[hash]; r != nil {
			r.do(func() { r.depart(hash) })
		}
	}
}

// depart shortens the hold of a player. One who is still connected goes away later: the end of its connection may come behind.
func (r *Room) depart(hash world.TokenHash) {
	id, _ := r.sim.ByToken(hash)
	p := r.players[id]
	if p == nil || r.state == roomEnded {
		return
	}
	if p.departs = true; p.Away() {
		r.away = slices.DeleteFunc(r.away, func(o *Player) bool { return o == p })
		r.holdSeat(p, p.ends)
	}
}

// holdSeat puts a player among those who are away, until a tick at the latest.
func (r *Room) holdSeat(p *Player, until uint64) {
	p.ends = until
	if p.departs {
		p.ends = min(until, r.sim.Tick()+r.ticksOf(departHold))
	}
	r.away = append(r.away, p)
	for i := len(r.away) - 1; i > 0 && r.away[i-1].ends > p.ends; i-- {
		r.away[i-1], r.away[i] = p, r.away[i-1]
	}
}

// ticksOf returns how many ticks a time has.
func (r *Room) ticksOf(d time.Duration) uint64 {
	return uint64(d * time.Duration(r.hub.cfg.TickRate) / time.Second)
}

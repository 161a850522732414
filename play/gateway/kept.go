package gateway

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/account"
)

// newNode returns a number that tells this run of this server from all others.
func newNode() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

// keep has the room's log kept, if the hub has a shelf. The world is new or was loaded, and nothing was submitted since.
func (r *Room) keep() error {
	shelf := r.hub.cfg.Shelf
	if shelf == nil {
		return nil
	}
	settings, err := json.Marshal(r.settings)
	if err != nil {
		return err
	}
	r.sim.Keep(r.hub.node, r.sim.Epoch()+1)
	r.kept, err = shelf.Room(r.Name(), r.sim, settings)
	return err
}

// resume opens the rooms that were kept. One that cannot be loaded is left aside, and said.
func (h *Hub) resume() {
	if h.cfg.Shelf == nil {
		return
	}
	h.recallEnded()
	for _, name := range h.cfg.Shelf.Rooms() {
		if err := h.resumeRoom(name); err != nil {
			h.log.Error("a room is left aside", "room", name, "err", err)
			h.wrong = errors.Join(h.wrong, fmt.Errorf("room %s is left aside: %w", name, err))
		}
	}
}

func (h *Hub) resumeRoom(name string) error {
	sim, text, err := h.cfg.Shelf.Load(name, h.cfg.Game)
	if err != nil {
		return err
	}
	s := Settings{Idle: defaultIdle, MaxPlayers: h.cfg.MaxPlayers}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &s); err != nil {
			return fmt.Errorf("its settings: %w", err)
		}
	}
	if s.Opened == 0 { // of an earlier version
		s.Opened = h.stampOpened()
	}
	h.opened = max(h.opened, s.Opened)
	s.Name, s.Seed, s.Mode = name, sim.Config().Seed, sim.Config().Mode
	r := h.newRoomOf(s, sim)
	if err := r.keep(); err != nil {
		return err
	}
	if sim.Ended() {
		e := r.outcome()
		e.gone, e.kept = r.kept.Gone(), true
		h.addEnded(e)
		r.putAside(e)
		return nil
	}
	h.rooms[name] = r
	r.recall()
	r.state, r.empty = roomAsleep, time.Now()
	if !r.isEmpty() || !sim.Settled() { // what has happened is not final before some ticks
		r.wake()
	}
	return nil
}

// recall has all players away who can come back, and the others leave: "every player is away after a restart, and the hold
// begins anew then" (entry).
func (r *Room) recall() {
	for _, wp := range slices.Collect(r.sim.World().Players()) {
		at, ok := r.sim.Seat(wp.ID)
		if !ok || !at.Known || r.hub.hold() == 0 {
			r.sim.Leave(wp.ID)
			continue
		}
		if !at.Away {
			r.sim.Away(wp.ID)
		}
		p := &Player{ID: wp.ID, Name: wp.Name, Since: time.Now(), ends: r.sim.Tick() + r.ticksOf(r.hub.hold()), tokens: r.sim.Tokens(wp.ID)}
		p.account = len(p.tokens) == 0
		for _, t := range p.tokens {
			r.hub.sessions[t] = r
		}
		r.players[p.ID] = p
		r.hub.players++
		r.names[account.NameKey(p.Name)]++
		r.away = append(r.away, p)
	}
}

// isSafe reports whether players may be told of the last tick: it is on disk, as far as that is wanted.
func (r *Room) isSafe() bool { return r.kept == nil || r.kept.Safe() >= r.sim.Tick() }

// checkKept has those rooms told that are safe by now. One that is not may want a snapshot to go on.
func (h *Hub) checkKept() {
	waiting := h.unsafe[:0]
	for _, r := range h.unsafe {
		switch {
		case r.state != roomRan: // it has ended
		case r.isSafe():
			h.ran = append(h.ran, r)
		default:
			r.snapshot()
			waiting = append(waiting, r)
		}
	}
	clear(h.unsafe[len(waiting):])
	h.unsafe = waiting
}

// snapshot gives the room's log a snapshot, if it wants one. It is called right after Advance, before anything is submitted.
func (r *Room) snapshot() {
	if r.kept != nil && r.kept.WantsSnapshot() {
		r.kept.Snapshot(r.sim.Tick(), r.sim.AppendSnapshot(nil))
	}
}

// dueMicros is when a tick was due, in Unix microseconds: the log has the time of people, moved on by monotonic differences.
func (h *Hub) dueMicros(due time.Time) int64 {
	if due.IsZero() {
		return 0 // in a hub that does not run
	}
	return h.epoch.UnixMicro() + due.Sub(h.epoch).Microseconds()
}

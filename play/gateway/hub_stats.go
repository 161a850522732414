package gateway

import (
	"time"

	"parley/internal/metric"
	"parley/internal/pace"
	"parley/world"
)

// Histogram counts durations by their size.
type Histogram = metric.Times

// Stats are the counters of a hub.
type Stats struct {
	Players       int
	Spectators    int
	Seats         ByDialect[int] // players and spectators
	Paths         ByDialect[PathStats]
	Rooms         int
	AwakeRooms    int           // of them, those with ticks
	Ticks         uint64        // of all rooms
	LateTicks     uint64        // started more than half a tick late
	SkippedTicks  uint64        // left out because the hub was far behind
	LastTick      time.Duration // how long the last tick took
	LongestTick   time.Duration
	TickP50       time.Duration // of all ticks so far
	TickP99       time.Duration
	TickTimes     Times         // how long each tick took
	TickSeconds   Histogram     // the same, as a histogram
	InputSeconds  Histogram     // from the arrival of an input until its tick was published
	HeldCalls     int           // of a cluster's rooms, that were not done yet, in the room with the most
	Behind        time.Duration // behind the clock after the last tick; 0 if the hub keeps up
	Shed          uint64        // players who were refused because the hub was behind
	Crowded       uint64        // players who were refused because their address had too many seats, or took them too fast
	Banned        uint64        // players who were refused because their address was banned while they came in
	Numberless    uint64        // players who were refused because no number was free for their entity
	Gate          GateStats
	Requests      uint64
	DroppedInput  uint64 // requests of connections that had too many waiting
	EarlyInput    uint64 // requests of connections that have not entered, or have left
	MadeChunks    uint64 // terrain chunks that were not ready and had to be made
	UnreadInput   uint64 // messages without a meaning in the game, or from a connection without a player
	UnsentOutput  uint64 // messages to players whose connection had no room
	HeldInput     uint64 // inputs that waited because the world was behind the clock
	HastenedInput uint64 // of these, inputs that were applied before their tick, as they waited too long
	StampedInput  uint64 // inputs with a stamp
	RepeatedInput uint64 // of these, inputs whose number had come before, or is too old to know
	LateInput     uint64 // of these, inputs that came after their tick and were done at once
	FarInput      uint64 // of these, inputs for a tick that was too far ahead, and that were done before it
	PushedInput   uint64 // of these, inputs that were done before their tick because too many waited
	Overtaken     uint64 // of these, steers that came after a later one was done, and were not done
	DoubtedShown  uint64 // of these, inputs whose shown tick was too old, or had not been sent yet
	LostMembers   uint64 // players who left, and of whom clients that do not read were not told
	DelayedChunks uint64 // times that a player waited for terrain because of others
	RefusedChunks uint64 // chunks asked for by players who already waited for too many
	Chat          uint64
	DroppedChat   uint64
	RefusedInputs uint64
	SlowConsumers uint64 // of events, that were cut off with ErrSlow
	World         world.Stats
}

// PathStats are sums over the narrow paths of a dialect: those that hold back what they are given.
type PathStats struct {
	Narrow   int           // how many there are
	Estimate int64         // bytes a second that they are thought to take
	Budget   int64         // bytes that the last tick could use
	Queue    time.Duration // how long packets wait on them
}

func (p *PathStats) add(e *pace.Estimate) {
	if e.Rate == 0 {
		return
	}
	p.Narrow++
	p.Estimate += e.Rate
	p.Budget += int64(e.Budget)
	p.Queue += e.Queue
}

// ByDialect is something of each dialect.
type ByDialect[T any] struct{ Replica, Stamp, Relay, Duplex, Realm T }

// of returns that of a dialect; of one that it does not know, one that is not looked at.
func (b *ByDialect[T]) of(dialect string) *T {
	switch dialect {
	case "replica":
		return &b.Replica
	case "stamp":
		return &b.Stamp
	case "relay":
		return &b.Relay
	case "duplex":
		return &b.Duplex
	case "realm":
		return &b.Realm
	}
	return new(T)
}

// look makes the counters known to other goroutines.
func (h *Hub) look() {
	st := h.stats
	st.Players, st.Gate, st.Rooms, st.AwakeRooms = h.players, h.gate.Stats(), len(h.rooms), len(h.awake)
	st.SlowConsumers = h.slow.Load()
	st.World = h.past
	for _, r := range h.rooms {
		if r.quiet() {
			r.counted = r.sim.Stats()
		}
		st.World.Add(&r.counted)
		st.Behind = max(st.Behind, r.behind)
		if r.shared != nil {
			st.HeldCalls = max(st.HeldCalls, r.shared.holds())
		}
		for _, side := range r.sides {
			if side == nil {
				continue
			}
			*st.Seats.of(side.dialect.Name()) += len(side.seats)
			paths := st.Paths.of(side.dialect.Name())
			for _, s := range side.seats {
				paths.add(&s.estimate)
				if s.spectator {
					st.Spectators++
				}
			}
		}
	}
	for _, d := range h.dialects {
		lost := d.requests().losses()
		st.DroppedInput += lost.flood
		st.UnreadInput += lost.unread
		st.UnsentOutput += lost.unsent
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = st
}

// Stats returns the counters as of the last tick.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	st := h.seen
	h.mu.Unlock()
	st.TickP50, st.TickP99 = st.TickTimes.Quantile(.5), st.TickTimes.Quantile(.99)
	return st
}

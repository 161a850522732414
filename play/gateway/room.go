package gateway

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"parley/internal/pace"
	"parley/play/keep"
	"parley/play/message"
	"parley/world"
)

// Settings are what a room is opened with. The zero Settings, with a name, are usable.
type Settings struct {
	// Name is 1 to 32 of a-z, 0-9 and -.
	Name string

	// Seed is the seed of the room's terrain and random numbers.
	Seed uint64

	// Mode is a text that the game reads with World.Mode.
	Mode string

	// MaxPlayers bounds the players of the room, those who are away included. Default: Config.MaxPlayers.
	MaxPlayers int

	// Closed admits only players with a ticket for the room, and the accounts in Accounts.
	Closed   bool
	Accounts []string

	// Idle is how long the room stays when it is empty. Default: for ever for main, one minute for others. Negative means for
	// ever.
	Idle time.Duration

	// Match means that the room was opened for a match: tickets of the server's own key are good for it.
	Match bool

	// ByPlayers means that strangers can have such rooms opened, as they can those of matches. One in operatorShare of the places
	// for rooms is not for them.
	ByPlayers bool

	// Opened is when the room was opened, in Unix µs. Open sets it.
	Opened int64
}

// MainRoom is the room that every hub has: that of players without a pass, and of tickets that name no room.
const MainRoom = "main"

// check refuses settings that no room can have.
func (s *Settings) check() error {
	switch {
	case !message.IsRoomName(s.Name):
		return fmt.Errorf("parley: a room named %q: a name has 1 to 32 of a-z, 0-9 and -", s.Name)
	case s.MaxPlayers < 0 || s.MaxPlayers > world.MaxPlayers:
		return fmt.Errorf("parley: room %s: MaxPlayers must be 1 to %d, or 0 for the server's, not %d", s.Name, world.MaxPlayers, s.MaxPlayers)
	}
	return nil
}

// Room is a running world with its players. The hub's goroutine owns it, but for the time in which a worker runs its step.
type Room struct {
	hub      *Hub
	settings Settings
	sim      *world.Sim
	sides    []*side // by the order of the hub's dialects; nil until somebody has come over the dialect
	players  map[world.PlayerID]*Player
	names    map[string]int  // how many players have a name, by its key
	away     []*Player       // whose seats are held, the longest first
	entering int             // players whose tickets are being spent
	said     []Line          // since the last tick
	came     []time.Duration // when the inputs of this tick did: maxRequests for each seat at most, and what it held
	holders  []*Seat         // whose inputs are for ticks that the world has yet to come to
	askers   []*Seat         // who wait for terrain, the next to be served first
	served   []*Seat         // of them, in this tick
	land     land
	members  *members // nil until a client wants to know them

	taps     []*tap // of those who follow what happens
	injected int    // actions of the world itself that wait
	over     *Ended // its game has ended it

	kept    *keep.Room // nil if nothing is kept
	shared  elsewhere  // nil unless other servers run the room too
	state   roomState
	lent    roomState     // what state was, in a room that View has
	viewers []chan *Room  // who want to look at it
	later   []func()      // what is to be done when the room is quiet again
	skipped uint64        // ticks that were let go
	unsaid  uint64        // of these, and of those that it slept, the ones since the last entry
	due     time.Time     // when the tick was due that is being run; zero in a hub that does not run
	now     time.Time     // when it began
	next    time.Time     // when the next is due
	behind  time.Duration // the clock, after the last tick
	found   time.Time     // when it was first more than shedBehind
	empty   time.Time     // since when nobody is there
	times   Times
	lately  *lately
	late    uint64      // ticks that began more than half a period late
	counted world.Stats // when the room was last quiet

	slot       int           // which part of the period its ticks are in
	offset     time.Duration // from the beginning of the period
	tick       uint64        // that is being run
	looks      int           // how often the hub has looked at this step, see watch
	emptyTicks int           // ticks without anybody
	err        error         // what the step ended with
	why        error         // what the room ended with
	worker     atomic.Uint64 // the goroutine that runs its step
	working    atomic.Bool   // and it does
	fate       atomic.Int32  // of the step
}

// roomState is what a room is at.
type roomState uint8

const (
	roomQuiet    roomState = iota // between two ticks
	roomAsleep                    // quiet, and nobody is there: it has no ticks
	roomStepping                  // a worker has it, and nobody else may touch its world
	roomRan                       // its step is done, and players have yet to be told
	roomEnded                     // it is no room of the hub any more
)

// side is a room towards one dialect: who plays in it over the dialect, and what the dialect keeps of the room.
type side struct {
	room    *Room
	dialect Dialect
	seats   []*Seat // that have entered
	stage   stage
	copies  bool        // the stage keeps one copy of the world for all its clients
	mirror  *world.View // of the whole world, for that
}

// stage is what a dialect keeps of a room. Its methods are called while the loop of the dialect stands still.
type stage interface {
	// publish tells the players of the side what the last tick brought. The hub waits for it and changes nothing meanwhile, but
	// the other dialects may publish at the same time: it may read the room and its world, and change what is its own, its
	// players' views for one.
	publish()

	// end lets go of the room.
	end()
}

// newRoom makes a room of settings that were checked.
func (h *Hub) newRoom(s Settings) (*Room, error) {
	if s = h.fill(s); h.together != nil {
		return h.together.main(s)
	}
	c := h.cfg.World
	c.Seed, c.Mode = s.Seed, s.Mode
	sim, err := world.New(h.cfg.Game, c)
	if err != nil {
		return nil, err
	}
	r := h.newRoomOf(s, sim)
	return r, r.keep()
}

// fill gives settings what was left out.
func (h *Hub) fill(s Settings) Settings {
	s.MaxPlayers = cmp.Or(s.MaxPlayers, h.cfg.MaxPlayers)
	if s.Idle == 0 && s.Name != MainRoom {
		s.Idle = defaultIdle
	}
	s.Opened = h.stampOpened()
	return s
}

// newRoomOf makes a room of a world.
func (h *Hub) newRoomOf(s Settings, sim *world.Sim) *Room {
	return &Room{
		hub: h, settings: s, sim: sim, land: land{sim: sim, chunks: map[world.ChunkPlace][]byte{}},
		sides: make([]*side, len(h.dialects)), players: map[world.PlayerID]*Player{}, names: map[string]int{},
	}
}

// Name returns the room's name.
func (r *Room) Name() string { return r.settings.Name }

// Settings returns what the room was opened with, with defaults filled in.
func (r *Room) Settings() Settings { return r.settings }

// Sim returns the room's world. Use it in Do, or before Run.
func (r *Room) Sim() *world.Sim { return r.sim }

// side returns the room's side towards a dialect, and makes it if nobody has come over the dialect yet.
func (r *Room) side(d Dialect) *side {
	at := r.hub.place(d)
	for len(r.sides) <= at {
		r.sides = append(r.sides, nil)
	}
	if r.sides[at] == nil {
		r.sides[at] = &side{room: r, dialect: d}
	}
	return r.sides[at]
}

// open makes the stage of the side, for the first who comes. It is called while all loops stand still.
func (s *side) open() {
	if s.stage == nil {
		s.stage = s.dialect.stage(s)
	}
}

// furnish gives sides their copies of the world. The room has run, and all loops stand still.
func (r *Room) furnish() {
	for _, s := range r.sides {
		if s != nil && s.copies && s.mirror == nil {
			s.mirror = r.sim.NewView(0, world.ViewConfig{Radius: -1, BytesPerTick: -1, Reliable: true, Copy: true})
		}
	}
}

// inTurn returns the i-th of the seats that is told in this tick: see pace.InTurn.
func (s *side) inTurn(i int) *Seat {
	return s.seats[pace.InTurn(s.room.sim.Tick(), i, len(s.seats))]
}

// idle reports whether nobody looks at a dialect's copy of the world, so that it may stay as it is. Once a second it may not:
// it holds the numbers of what is gone.
func (s *side) idle() bool {
	return len(s.seats) == 0 && s.room.sim.Tick()%uint64(s.room.hub.cfg.TickRate) != 0
}

// quiet reports whether the room's world may be touched: no worker has it.
func (r *Room) quiet() bool { return r.state < roomStepping }

// do has something done with the room's world: now, or when its step has ended. In a room that has ended it is done too, and must
// leave the world alone.
func (r *Room) do(fn func()) {
	if r.quiet() || r.state == roomEnded {
		fn()
		return
	}
	r.later = append(r.later, fn)
}

// catchUp does what waited for the room to be quiet.
func (r *Room) catchUp() {
	later := r.later
	r.later = nil
	for _, fn := range later {
		fn()
	}
}

// keepForLater keeps a request for a room that a worker has.
func (r *Room) keepForLater(q *request) {
	kept := *q
	kept.line = bytes.Clone(q.line) // the inbox's is good for this turn
	r.later = append(r.later, func() { r.handle(&kept) })
}

// isEmpty reports whether nobody plays, watches, is away or comes in.
func (r *Room) isEmpty() bool {
	if len(r.players)+r.entering > 0 {
		return false
	}
	for _, s := range r.sides {
		if s != nil && len(s.seats) > 0 {
			return false
		}
	}
	return true
}

// wake has an empty room have ticks again.
func (r *Room) wake() {
	if r.state == roomAsleep {
		r.state = roomQuiet
		r.unsaid += uint64(max(time.Since(r.empty), 0) / r.hub.every())
		r.hub.schedule(r)
	}
}

// RoomStats is what a room is at.
type RoomStats struct {
	Players int // those who are away included
	Away    int
	Tick    uint64
	Late    uint64        // ticks that began more than half a period late
	TickP50 time.Duration // of all ticks so far
	TickP99 time.Duration
	Asleep  bool // nobody is there, and it has no ticks
	Kept    bool
}

// Stats returns what the room is at. Call it in Do.
func (r *Room) Stats() RoomStats {
	if r.quiet() {
		r.tick = r.sim.Tick()
	}
	return RoomStats{
		Players: len(r.players), Away: len(r.away), Tick: r.tick, Late: r.late, TickP50: r.times.Quantile(.5), TickP99: r.times.Quantile(.99),
		Asleep: r.state == roomAsleep, Kept: r.kept != nil,
	}
}

// Errors of rooms. They begin as those of package parley do, which returns them as its own: its users do not know this package.
var (
	// ErrRoomThere means that there is a room of that name.
	ErrRoomThere = errors.New("parley: there is a room of that name")
	// ErrNoRoom means that there is no room of that name.
	ErrNoRoom = errors.New("parley: no such room")
	// ErrMainRoom means that the main room ends with the server.
	ErrMainRoom = errors.New("parley: the room main ends with the server")
	// ErrRooms means that the hub has as many rooms as it may.
	ErrRooms = errors.New("parley: there are as many rooms as there may be")
)

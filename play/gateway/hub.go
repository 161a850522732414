package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/admission"
	"parley/internal/metric"
	"parley/internal/pace"
	"parley/protocol/relay"
	"parley/world"
)

// Config sets up a hub. The zero Config, with a game, is usable. Config must not be changed after use.
type Config struct {
	Game  world.Game
	World world.Config

	// TickRate is the number of ticks a second. Default 20.
	TickRate int

	// Sight is the distance up to which players see, in cells. Default 128; negative means everything.
	Sight float64

	// MaxPlayers bounds the players of all dialects together. Default 1,000.
	MaxPlayers int

	// PerAddress bounds the seats of an address, over all dialects, and how fast it takes them. Default 256; negative means no
	// limit.
	PerAddress int

	// TicketKey, if set, admits only players with a ticket of that key, except accounts and spectators. Used tickets are kept in
	// SpentFile, whose folder must exist. Without a file, they are valid again after a restart.
	TicketKey relay.TicketKey
	SpentFile string

	// Record, if set, receives the recording of all inputs.
	Record io.Writer

	// Log gets a line for each player that joins or leaves. Default: none.
	Log *slog.Logger
}

// Dialect is one dialect of the world: a server, and the meaning of its packets.
type Dialect interface {
	// Name returns the dialect's name.
	Name() string

	// Requests is where its handler puts what came.
	requests() *inbox

	// Visit runs fn while the server's loop stands still: publish is called in it. What its players
	// are told is sent when it returns. It runs fn whatever has become of the server.
	visit(fn func())

	// Publish tells its players what the last tick brought. The hub waits for it and changes
	// nothing meanwhile, but the other dialects may publish at the same time: it may read the
	// hub and its world, and change what is its own, its players' views for one.
	publish(h *Hub)

	// view is how a player of the dialect sees.
	view() world.ViewConfig

	// Shutdown says goodbye to all players, and closes.
	Shutdown(ctx context.Context) error
}

// Hub is the world, with all its players and dialects.
type Hub struct {
	cfg      Config
	log      *slog.Logger
	sim      *world.Sim
	dialects []Dialect
	seats    map[string][]*Seat // by dialect: seats that have entered
	players  map[world.PlayerID]*Player
	names    map[string]int // how many players have a name, by its key
	crowd    *admission.Crowd
	joins    *admission.Buckets // by address
	gate     *Gatekeeper
	entering int             // players whose tickets are being spent
	verdicts []verdict       // on tickets, of this tick
	said     []Line          // since the last tick
	came     []time.Duration // when the inputs of this tick did: maxRequests for each seat at most, and what it held
	commands chan func()
	visits   []func() // publishing in no dialect's loop, in that of the first, and of more
	refills  []func() // what dialects do to the world before each step
	holders  []*Seat  // whose inputs are for ticks that the world has yet to come to
	askers   []*Seat  // who wait for terrain, the next to be served first
	served   []*Seat  // of them, in this tick
	land     land
	crew     crew
	stats    Stats

	due    time.Time     // when the tick was due that is being run; zero in a hub that does not run
	now    time.Time     // when it began
	behind time.Duration // the clock, after the last tick
	found  time.Time     // when it was first more than shedBehind

	playing atomic.Uint64 // the goroutine that runs code of the game; 0 if none does
	over    chan struct{} // closed when the hub does nothing more

	mu   sync.Mutex
	seen Stats // as of the last tick
}

// Histogram counts durations by their size.
type Histogram = metric.Times

// Stats are the counters of a hub.
type Stats struct {
	Players       int
	Spectators    int
	Seats         ByDialect[int] // players and spectators
	Paths         ByDialect[PathStats]
	Ticks         uint64
	LateTicks     uint64        // started more than half a tick late
	SkippedTicks  uint64        // left out because the hub was far behind
	LastTick      time.Duration // how long the last tick took
	LongestTick   time.Duration
	TickP50       time.Duration // of all ticks so far
	TickP99       time.Duration
	TickTimes     Times         // how long each tick took
	TickSeconds   Histogram     // the same, as a histogram
	InputSeconds  Histogram     // from the arrival of an input until its tick was published
	Behind        time.Duration // behind the clock after the last tick; 0 if the hub keeps up
	Shed          uint64        // players who were refused because the hub was behind
	Crowded       uint64        // players who were refused because their address had too many seats, or took them too fast
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
	DelayedChunks uint64 // times that a player waited for terrain because of others
	RefusedChunks uint64 // chunks asked for by players who already waited for too many
	Chat          uint64
	DroppedChat   uint64
	RefusedInputs uint64
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

// Line is a line of chat.
type Line struct {
	Player *Player // nil if the server said it
	Name   string
	Entity uint16 // the speaker's own entity, 0 if there is none
	Text   []byte // valid for one tick
}

// New makes the world. It returns an error if the game is invalid.
func New(c Config) (*Hub, error) {
	c.TickRate = cmp.Or(c.TickRate, defaultTickRate)
	c.MaxPlayers = cmp.Or(c.MaxPlayers, defaultMaxPlayers)
	c.PerAddress = cmp.Or(c.PerAddress, defaultPerAddress)
	c.World.TickRate = c.TickRate
	sim, err := world.New(c.Game, c.World)
	if err != nil {
		return nil, err
	}
	if c.Record != nil {
		if err := sim.Record(c.Record); err != nil {
			return nil, fmt.Errorf("gateway: the recording: %w", err)
		}
	}
	h := &Hub{
		cfg: c, log: c.Log, sim: sim, land: land{sim: sim, chunks: map[world.ChunkPlace][]byte{}},
		seats: map[string][]*Seat{}, players: map[world.PlayerID]*Player{}, names: map[string]int{},
		crowd: admission.NewCrowd(c.PerAddress), joins: newJoins(c.PerAddress),
		commands: make(chan func(), maxCommands), over: make(chan struct{}),
	}
	h.visits = []func(){h.publish}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	if h.gate, err = newGatekeeper(c.TicketKey, c.SpentFile, h.log); err != nil {
		return nil, err
	}
	return h, nil
}

// Gate returns the judge of passes. Any goroutine may use it.
func (h *Hub) Gate() *Gatekeeper { return h.gate }

// Sim returns the world. It belongs to the hub's goroutine: use it in Do, or before Run.
func (h *Hub) Sim() *world.Sim { return h.sim }

// mirror returns a view of the whole world, for a dialect that keeps one copy of it for all
// its clients.
func (h *Hub) mirror() *world.View {
	return h.sim.NewView(0, world.ViewConfig{Radius: -1, BytesPerTick: -1, Reliable: true, Copy: true})
}

// idle reports whether nobody looks at a dialect's copy of the world, so that it may stay as it is. Once a second it may not:
// it holds the numbers of what is gone.
func (h *Hub) idle(d Dialect) bool {
	return len(h.seats[d.Name()]) == 0 && h.sim.Tick()%uint64(h.cfg.TickRate) != 0
}

// inTurn returns the i-th of the seats of a dialect that is told in this tick: see pace.InTurn.
func (h *Hub) inTurn(seats []*Seat, i int) *Seat {
	return seats[pace.InTurn(h.sim.Tick(), i, len(seats))]
}

// Add adds a dialect, before Run.
func (h *Hub) Add(d Dialect) {
	h.dialects = append(h.dialects, d)
	within := h.visits[len(h.visits)-1]
	h.visits = append(h.visits, func() { d.visit(within) })
	if r, ok := d.(interface{ refill() }); ok {
		h.refills = append(h.refills, r.refill)
	}
}

// Do runs fn on the hub's goroutine between two ticks, and returns when it has run. If Do returns an error, fn does not run: the
// hub has ended, or Do was called by the game itself (Step, Terrain) or within another Do, where it would wait for itself.
func (h *Hub) Do(fn func()) error {
	ran, err := h.post(fn)
	if err != nil {
		return err
	}
	return h.await(ran)
}

// post has the hub run fn, if it comes to it: ran is then closed.
func (h *Hub) post(fn func()) (ran chan struct{}, err error) {
	if h.Playing() {
		return nil, ErrPlaying
	}
	ran = make(chan struct{})
	select {
	case h.commands <- func() { h.play(fn); close(ran) }:
		return ran, nil
	case <-h.over:
		return nil, ErrEnded
	}
}

func (h *Hub) await(ran chan struct{}) error {
	select {
	case <-ran:
		return nil
	case <-h.over:
	}
	select {
	case <-ran: // it was one of the last things that the hub did
		return nil
	default:
		return ErrEnded
	}
}

// Errors of Do.
var (
	// ErrEnded means that the game has ended.
	ErrEnded = errors.New("gateway: the game has ended")
	// ErrPlaying means that the game itself called Do.
	ErrPlaying = errors.New("gateway: called by Step, by Terrain or within another call")
)

// Run runs the world until ctx ends, and then says goodbye to all players. If the game panics, Run ends too and returns an error.
func (h *Hub) Run(ctx context.Context) error {
	err := h.loop(ctx)
	late, cancel := context.WithTimeout(context.Background(), goodbyeTime)
	defer cancel()
	return errors.Join(err, h.Shutdown(late))
}

// Shutdown makes all dialects say goodbye and close. Run does so at its end; Shutdown is for a hub that never ran.
func (h *Hub) Shutdown(late context.Context) error {
	var errs []error
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, d := range h.dialects {
		wg.Go(func() {
			if err := d.Shutdown(late); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(append(errs, h.gate.close(late))...)
}

// loop runs ticks at their times.
func (h *Hub) loop(ctx context.Context) error {
	defer close(h.over) // also if the game ends this goroutine
	every := time.Second / time.Duration(h.cfg.TickRate)
	next := time.Now().Add(every)
	timer := time.NewTimer(every)
	defer timer.Stop()
	defer h.hire()()
	for {
		select {
		case <-ctx.Done():
			return nil
		case do := <-h.commands:
			do()
			continue
		case <-timer.C:
		}
		began := time.Now()
		h.due, h.now = next, began
		if began.Sub(next) > every/2 {
			h.stats.LateTicks++
		}
		if err := h.Tick(); err != nil {
			return err
		}
		h.stats.LastTick = time.Since(began)
		h.stats.LongestTick = max(h.stats.LongestTick, h.stats.LastTick)
		h.stats.TickTimes.add(h.stats.LastTick)
		h.stats.TickSeconds.Add(h.stats.LastTick)
		next = next.Add(every)
		if h.behind = time.Since(next); h.behind > mostBehind {
			skipped := (h.behind - mostBehind/2) / every
			h.stats.SkippedTicks += uint64(skipped)
			next = next.Add(skipped * every)
			h.behind -= skipped * every
			h.log.Warn("the world is far behind the clock, and lets ticks go", "ticks", int64(skipped))
		}
		if h.behind <= shedBehind {
			h.found = time.Time{}
		} else if h.found.IsZero() {
			h.found = time.Now()
		}
		h.look()
		timer.Reset(time.Until(next))
	}
}

// Tick runs one tick: requests, the step, and its results. If the game panics, it returns an error. Run calls it, and so may
// tests without a clock.
func (h *Hub) Tick() error {
	h.take()
	if err := h.step(); err != nil {
		return err
	}
	h.settle()
	h.visits[len(h.visits)-1]()
	for _, d := range h.dialects {
		for _, s := range h.seats[d.Name()] {
			s.results, s.answers = s.results[:0], false
		}
	}
	h.said = h.said[:0]
	h.stats.Ticks++
	h.published()
	return nil
}

// published counts how long the inputs of this tick have waited until all players were told of it.
func (h *Hub) published() {
	if len(h.came) == 0 {
		return
	}
	now := sinceStart()
	for _, at := range h.came {
		h.stats.InputSeconds.Add(now - at)
	}
	h.came = h.came[:0]
}

// take does what was asked since the last tick, in the order in which it came at each
// dialect.
func (h *Hub) take() {
	for _, refill := range h.refills {
		refill()
	}
	h.release()
	h.admit()
	for _, d := range h.dialects {
		for _, s := range h.seats[d.Name()] {
			s.chat.grow(chatRate, h.cfg.TickRate)
			s.terrain.grow(terrainRate, h.cfg.TickRate)
		}
		list := d.requests().take()
		h.stats.Requests += uint64(len(list))
		for i := range list {
			h.handle(&list[i])
		}
	}
}

func (h *Hub) handle(r *request) {
	s := r.seat
	switch {
	case r.ask == askEnter:
		h.enter(s, r.name)
	case r.ask == askLeave:
		h.leave(s)
	case s.player == nil || s.left:
		h.stats.EarlyInput++
	case r.tick > h.sim.Tick()+world.MaxAhead:
		h.hold(r)
	case r.ask == askSteer:
		h.came = append(h.came, r.at)
		s.answers = true
		h.steer(s, r)
	case r.ask == askAct:
		h.came = append(h.came, r.at)
		s.answers = true
		h.judge(s, r.tag, h.sim.Act(s.player.ID, h.tickOf(r), r.action, r.params[:len(r.action.Fields)], r.tag))
	case r.ask == askSay:
		s.answer(r.tag, h.say(s, r.line))
	case r.ask == askTerrain:
		h.wants(s, r.place, r.tag)
	case r.ask == askCorrect:
		s.view.Refused(h.entityOf(s.player), h.tickOf(r))
	}
}

// tickOf returns the tick that an input is for.
func (h *Hub) tickOf(r *request) uint64 {
	if r.tick == 0 {
		return h.sim.Tick()
	}
	return r.tick
}

func (h *Hub) steer(s *Seat, r *request) {
	if r.entity != 0 {
		r.steer.Entity = h.sim.ByWire(r.entity)
	}
	if why := h.sim.Steer(s.player.ID, h.tickOf(r), r.steer, r.tag); why.Refused() {
		s.view.Refused(h.entityOf(s.player), h.tickOf(r))
		h.judge(s, 0, why)
	}
}

// judge counts a refusal. What is accepted so far has its result after the step.
func (h *Hub) judge(s *Seat, tag uint32, why world.Reason) {
	if why.Refused() {
		h.stats.RefusedInputs++
		s.answer(tag, why)
	}
}

// step runs the game, and contains its panic.
func (h *Hub) step() (err error) {
	defer func() {
		if why := recover(); why != nil {
			h.log.Error("the game panicked", "tick", h.sim.Tick(), "panic", why, "stack", string(debug.Stack()))
			err = fmt.Errorf("gateway: the game panicked at tick %d: %v", h.sim.Tick(), why)
		}
	}()
	h.play(h.sim.Advance)
	return nil
}

// settle looks at what the tick brought that is the same for all dialects.
func (h *Hub) settle() {
	for _, ev := range h.sim.Events() {
		p := h.players[ev.Player]
		switch {
		case p == nil:
		case ev.Kind == world.InputRefused:
			h.stats.RefusedInputs++
			if ev.Input == world.Steer { // who may not throw is where it says all the same
				p.seat.view.Refused(ev.Entity, ev.Tick)
			}
			p.seat.answer(ev.Tag, ev.Reason)
		case ev.Kind == world.ActionDone:
			p.seat.answer(ev.Tag, world.Accepted)
		}
	}
}

// look makes the counters known to other goroutines.
func (h *Hub) look() {
	st := h.stats
	st.Players, st.World, st.Behind, st.Gate = len(h.players), h.sim.Stats(), max(h.behind, 0), h.gate.Stats()
	for _, d := range h.dialects {
		*st.Seats.of(d.Name()) = len(h.seats[d.Name()])
		paths := st.Paths.of(d.Name())
		for _, s := range h.seats[d.Name()] {
			paths.add(&s.estimate)
			if s.spectator {
				st.Spectators++
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

package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/admission"
	"parley/internal/carry"
	"parley/internal/way"
	"parley/play/keep"
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

	// Hold is how long the seat of a player is held whose connection is gone. Default 30 s; negative means not at all.
	Hold time.Duration

	// NoMainAccounts keeps accounts out of the main room where players need a ticket.
	NoMainAccounts bool

	// MaxRooms bounds the rooms, main included. Default 1,000.
	MaxRooms int

	// Shelf, if set, keeps the rooms, and New resumes those that it has. Its owner closes it when the hub has ended.
	Shelf *keep.Shelf

	// Cluster, if set, has the logs of the rooms, which other servers run too. Then Shelf is nil.
	Cluster *Nodes

	// Desync, if set, gets what there is to look at when a room's world is not what its log says: a cluster's servers compute otherwise. It may take its time,
	// and any goroutine may call it.
	Desync func(Desync)

	// Record, if set, receives the recording of all inputs of the main room.
	Record io.Writer

	// Browsers brings players in browsers: a carry.Building. Default: nobody does.
	Browsers interface{ Dialects() []string }

	// Proxies are the networks of proxies in front of duplex and realm: see their Config. Default: there are none.
	Proxies []netip.Prefix

	// Banned reports whether an address is banned. Any goroutine may call it, and it must not block. Default: none is.
	Banned func(now time.Time, from netip.Addr) bool

	// Chat, if set, may change a line of chat or drop it, before it is ordered. The hub calls it, so it must not block.
	Chat func(ChatLine) (text string, ok bool)

	// Log gets a line for each player that joins or leaves. Default: none.
	Log *slog.Logger
}

// Dialect is one dialect of the world: a server, and the meaning of its packets.
type Dialect interface {
	// Name returns the dialect's name.
	Name() string

	// Requests is where its handler puts what came.
	requests() *inbox

	// Visit runs fn while the server's loop stands still: its stages publish in it. What its players
	// are told is sent when it returns. It runs fn whatever has become of the server.
	visit(fn func())

	// Stage makes what the dialect keeps of a room, for the first who comes to the room over it. All loops stand still.
	stage(s *side) stage

	// View is how a player of the dialect sees.
	view() world.ViewConfig

	// Shutdown says goodbye to all players, and closes.
	Shutdown(ctx context.Context) error
}

// Hub has the rooms of a server, and the dialects over which players come to them.
type Hub struct {
	cfg      Config
	log      *slog.Logger
	rooms    map[string]*Room
	main     *Room
	awake    []*Room // those with ticks
	dialects []Dialect
	crowd    *admission.Crowd
	joins    *admission.Buckets // by address
	gate     *Gatekeeper
	verdicts []verdict // on tickets, of this turn
	spending int       // seats whose tickets are being spent, in all rooms
	refused  []*Seat   // who are to be told that they are not let in
	draining *drain    // nil unless Drain was called
	welcomed []*Seat   // and that they are
	answered []*Seat   // and what their passes are worth
	sessions map[world.TokenHash]*Room
	together together // nil unless other servers run the rooms too
	departs  departures
	leaving  []*Room  // that end with the next visit
	tapped   []*Room  // that somebody follows
	ended    []*Ended // rooms that their games have ended, the newest last
	opened   int64    // when the last room was opened, Unix µs

	commands chan func()
	knock    chan struct{}   // somebody wants to enter
	knocked  bool            // and is to be heard soon
	visits   []func()        // what is done in no dialect's loop, in that of the first, and of more
	due      []*Room         // whose tick it is
	ran      []*Room         // whose tick is to be published
	unsafe   []*Room         // that have run, and are not kept yet
	notify   <-chan struct{} // some of them may be
	node     uint64
	refills  []func() // what dialects do to the main room before each turn
	workers  workers
	crew     crew
	stats    Stats
	past     world.Stats // of rooms that are gone
	failed   error       // why the main room has ended
	swept    time.Time   // when rooms were last looked at that are empty
	watched  time.Time   // and those whose steps do not end
	patience int         // how often it looks at a step before it gives up the room
	looked   time.Time   // when the counters were made known
	now      time.Time   // when this turn began; zero in a hub that does not run
	epoch    time.Time   // from which ticks are counted
	players  int         // of all rooms
	home     uint64      // the goroutine that the hub runs on; 0 if that is not known, and then play asks

	conns   atomic.Uint32 // connections so far, of all dialects
	slow    atomic.Uint64 // consumers of events that were cut off; workers count them
	playing atomic.Uint64 // the goroutine that runs code of the game for the hub itself; 0 if none does
	over    chan struct{} // closed when the hub does nothing more

	mu     sync.Mutex
	seen   Stats // as of the last tick
	wrong  error // rooms that were given up
	barred map[string]barred
}

// Line is a line of chat.
type Line struct {
	Player *Player // nil if the server said it
	Name   string
	Entity uint16 // the speaker's own entity, 0 if there is none
	Text   []byte // valid for one tick
}

// New makes the main room. It returns an error if the game is invalid.
func New(c Config) (*Hub, error) {
	c.TickRate = cmp.Or(c.TickRate, defaultTickRate)
	c.MaxPlayers = cmp.Or(c.MaxPlayers, defaultMaxPlayers)
	c.Hold = cmp.Or(c.Hold, defaultHold)
	c.MaxRooms = cmp.Or(c.MaxRooms, defaultMaxRooms)
	c.PerAddress = cmp.Or(c.PerAddress, defaultPerAddress)
	c.World.TickRate = c.TickRate
	h := &Hub{
		cfg: c, log: c.Log, rooms: map[string]*Room{}, sessions: map[world.TokenHash]*Room{},
		crowd: admission.NewCrowd(c.PerAddress), joins: newJoins(c.PerAddress),
		commands: make(chan func(), maxCommands), knock: make(chan struct{}, 1), over: make(chan struct{}),
		epoch: time.Now(), patience: spinLooks,
	}
	h.visits = []func(){h.publish}
	carry.BuildingOf(c.Browsers).UseBans(c.Banned)
	if h.cfg.Banned == nil {
		h.cfg.Banned = func(time.Time, netip.Addr) bool { return false }
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if h.cfg.Game, err = c.Game.Prepare(); err != nil {
		return nil, err
	}
	if c.Shelf != nil {
		h.notify, h.node = c.Shelf.Notify(), newNode()
	}
	if c.Cluster != nil {
		c.SpentFile = "" // the cluster knows which tickets were used
	}
	if h.gate, err = newGatekeeper(c.TicketKey, c.SpentFile, h.log); err != nil {
		return nil, err
	}
	h.gate.spent.told = h.rouse
	if c.Cluster != nil {
		h.together = c.Cluster.join(h)
		h.gate.spent.claim = h.together.spend
	}
	h.resume()
	if h.main = h.rooms[MainRoom]; h.main == nil {
		if h.main, err = h.newMain(); err != nil {
			return nil, err
		}
	}
	h.main.settings.Idle = 0
	if c.Record != nil {
		if err := h.main.sim.Record(c.Record); err != nil {
			return nil, fmt.Errorf("gateway: the recording: %w", err)
		}
	}
	return h, nil
}

// newMain makes the main room. If there is one on the shelf that was left aside, the new one is not kept.
func (h *Hub) newMain() (*Room, error) {
	s := Settings{Name: MainRoom, Seed: h.cfg.World.Seed, Mode: h.cfg.World.Mode}
	r, err := h.newRoom(s)
	if r == nil || err != nil && h.cfg.Cluster != nil {
		return nil, err
	}
	if err != nil {
		h.wrong = errors.Join(h.wrong, err)
		h.log.Error("the main room is not kept", "err", err)
		sim, err := world.New(h.cfg.Game, r.sim.Config())
		if err != nil {
			return nil, err
		}
		r = h.newRoomOf(r.settings, sim)
	}
	h.rooms[MainRoom] = r
	if r.shared == nil {
		h.schedule(r)
	}
	return r, nil
}

// Gate returns the judge of passes. Any goroutine may use it.
func (h *Hub) Gate() *Gatekeeper { return h.gate }

// Main returns the main room.
func (h *Hub) Main() *Room { return h.main }

// Sim returns the world of the main room. Use it in Do, or before Run.
func (h *Hub) Sim() *world.Sim { return h.main.sim }

// Schema returns the kinds and actions of the game, which all rooms share.
func (h *Hub) Schema() *world.Schema { return h.main.sim.Schema() }

// Add adds a dialect, before Run.
func (h *Hub) Add(d Dialect) {
	h.dialects = append(h.dialects, d)
	within := h.visits[len(h.visits)-1]
	h.visits = append(h.visits, func() { d.visit(within) })
	if r, ok := d.(interface{ refill() }); ok {
		h.refills = append(h.refills, r.refill)
	}
}

// number gives a connection its number in the log, if it has none yet. All dialects share one count.
func (h *Hub) number(n *uint32) uint32 {
	if *n == 0 {
		*n = h.conns.Add(1)
	}
	return *n
}

// rouse has the hub look around soon.
func (h *Hub) rouse() {
	select {
	case h.knock <- struct{}{}:
	default: // it will
	}
}

// place returns the number of a dialect.
func (h *Hub) place(d Dialect) int {
	return slices.IndexFunc(h.dialects, func(o Dialect) bool { return o.Name() == d.Name() })
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
	if h.together != nil {
		h.together.end()
	}
	return errors.Join(append(errs, h.gate.close(late))...)
}

// inBrowsers returns the sessions of a dialect's players in browsers, nil if there are none.
func (h *Hub) inBrowsers(dialect string) admission.Sources {
	return carry.BuildingOf(h.cfg.Browsers).Sessions(dialect)
}

// carrierOf returns what brings the stream of a player: what brings the dialect's streams, if it is no session.
func (h *Hub) carrierOf(dialect string, peer netip.AddrPort, usual string) string {
	if k := carry.HallOf(h.inBrowsers(dialect)).StreamKind(peer); k != way.UDP {
		return k.String()
	}
	return usual
}

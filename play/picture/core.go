package picture

import (
	"cmp"
	"math"
	"time"

	"parley/internal/serial"
	"parley/play/message"
	"parley/world"
)

// Config sets up a Core. The zero Config is usable.
type Config struct {
	// Name is the own player's name.
	Name string

	// TickRate is the server's, for dialects that do not tell it: realm and stamp. Default 20.
	TickRate int

	// NoPrediction draws the own entity as the others: it is for a game whose Step cannot run on what one player sees, and for
	// comparisons.
	NoPrediction bool

	// Busy, if set, is asked before each tick that is predicted. While it returns true nothing is predicted, and the own entity is drawn as
	// the others: a server can tell of what takes long to compute. Default: never.
	Busy func() bool
}

// voice is what the present connection can send. Nothing is sent while there is none.
type voice interface {
	steer(now time.Time, angle, norm float32, s message.Stamp) error
	act(now time.Time, a *world.Action, params []world.Value, s message.Stamp, again bool) error
	say(text string) error
}

// Core is the pure core of a client: it has no socket, goroutine or clock. A reader of a dialect (NewReplica and so on) gives it what
// the server tells. Its owner calls Steer and Act for what the player does, HandleTimeout when NextTimeout is due, and Frame whenever it
// draws. It belongs to one goroutine at a time.
type Core struct {
	cfg    Config
	game   world.Game
	schema *world.Schema
	config world.Config // of the guesses
	period time.Duration

	voice     voice
	connected bool
	upSince   time.Time // when it became so
	now       time.Time // of the last HandleTimeout
	rests     bool      // there is no time to predict
	over      bool      // nothing more will be told
	epoch     uint32    // which connection it is

	own      uint16 // the number of the own entity; 0 if it is not known
	ownEpoch uint32 // the connection that told it
	named    string // the own name by the connection before, or the wanted one
	clock    Clock
	lead     Lead
	newest   uint64    // tick that was heard of
	swept    uint32    // the connection for which sweep is done
	entry    uint32    // the connection that has told its world
	since    uint64    // the first tick that this connection has told; 0 before
	begun    bool      // some tick was
	ahead    bool      // fates are told, so that the client knows its lead
	told     uint64    // the newest tick that the server has named
	toldAt   time.Time // and when

	tracks map[uint16]*track
	list   []*track
	spare  []*track
	erase  []uint16 // drawn entities that were lost
	unname []uint16 // numbers that are no longer those of what own actions have created

	roster  map[string]uint16 // the players of the room, and their entities
	names   map[uint16]string // and the other way round
	renamed bool
	events  []Event
	stats   Stats

	guess   *world.Guess // runs ahead
	mine    prediction
	inputs  inputs
	sentAt  uint64 // the own tick in which inputs were last sent again
	pending truth
	scratch []world.Value
	fed     []uint64 // the numbers of the actions that were fed to the tick, 0 for steers

	shown  *world.Guess // what the frame shows
	chunks []chunk      // that it does not know
	frame  Frame
	next   time.Time
}

// New makes a client of a game. It returns an error if the game is invalid.
func New(g world.Game, c Config) (*Core, error) {
	g, err := g.Prepare()
	if err != nil {
		return nil, err
	}
	if c.TickRate == 0 {
		c.TickRate = 20
	}
	x := &Core{cfg: c, game: g, tracks: map[uint16]*track{}, names: map[uint16]string{}, roster: map[string]uint16{}, config: world.Config{TickRate: c.TickRate}}
	if err := x.reset(); err != nil {
		return nil, err
	}
	x.schema = x.shown.World().Schema()
	return x, nil
}

// reset begins anew, with a world of which nothing was told.
func (c *Core) reset() (err error) {
	if c.guess, err = world.NewGuess(c.game, c.config); err != nil {
		return err
	}
	if c.shown, err = world.NewGuess(c.game, c.config); err != nil {
		return err
	}
	c.guess.SetName(c.cfg.Name)
	c.shown.SetName(c.cfg.Name)
	rate := max(minRate, min(c.config.TickRate, maxRate))
	c.period = time.Second / time.Duration(rate)
	c.clock, c.lead = NewClock(rate), NewLead(rate)
	c.newest, c.begun, c.ahead = 0, false, false
	c.mine = prediction{failed: c.mine.failed}
	c.inputs.forget()
	c.pending = truth{}
	c.keepNew()
	c.guess.Own(c.own)
	return nil
}

// anew is reset after New, which has found that the game is valid.
func (c *Core) anew() {
	if err := c.reset(); err != nil {
		panic("picture: a game that was prepared is invalid: " + err.Error())
	}
}

// keepNew keeps what the present connection has told before it told of its world: messages of some dialects overtake each other.
func (c *Core) keepNew() {
	for i := 0; i < len(c.list); i++ {
		t := c.list[i]
		t.drawn, t.ghost = 0, false
		if t.epoch != c.epoch || t.last().gone {
			c.lose(t)
			i--
			continue
		}
		t.forget(len(t.samples) - 1)
		t.samples[0].tick, t.first = 0, 0
	}
	c.erase = c.erase[:0]
	if c.ownEpoch != c.epoch {
		c.own = 0
	}
}

// Schema returns the game's schema.
func (c *Core) Schema() *world.Schema { return c.schema }

// Name returns the name that the server has given the player, and the wanted one while it has told none.
func (c *Core) Name() string { return cmp.Or(c.names[c.own], c.cfg.Name) }

// Connected says that there is a new connection: a reader for it is to be made. What was known of another connection stays, until the
// server tells it anew. Numbers and ticks of inputs go on.
func (c *Core) Connected(now time.Time) {
	c.connected, c.upSince, c.now = true, now, now
	c.named = c.Name()
	c.epoch++
	c.since = 0
	clear(c.names)
	clear(c.roster)
	c.inputs.restart()
	c.ahead = false
	c.next = now
}

// Lost says that the connection is lost. The picture stays as it is.
func (c *Core) Lost(now time.Time) {
	c.connected, c.voice, c.ahead = false, nil, false
	c.pending = truth{}
}

// Over says that the player is out of the game: the picture goes to the newest that was told, which is the end of the game if that is why.
func (c *Core) Over(now time.Time) {
	c.Lost(now)
	c.over = true
}

// entered takes what a server tells of its world, and begins anew if it is not the one that was known.
func (c *Core) entered(now time.Time, m message.World, ok bool) {
	if !ok || m.Fingerprint != c.schema.Fingerprint() { // another game's means nothing here: package line ends the connection
		return
	}
	told := world.Config{Seed: m.Seed, TickRate: max(minRate, min(int(m.TickRate), maxRate)), Mode: cut(m.Mode, maxName)}
	tick := uint64(m.Tick)
	if c.begun {
		tick = serial.Bits(32).Unwrap(c.newest, m.Tick)
	}
	same := told.Seed == c.config.Seed && told.TickRate == c.config.TickRate && told.Mode == c.config.Mode
	if !same || c.begun && tick+1 < c.newest { // "ticks never run backwards within a room"
		c.config = told
		c.anew()
	}
	c.Entered()
	if !c.begun {
		c.newest = tick
	}
	c.told, c.toldAt = tick, now
	c.next = now
}

// you says which entity is the player's own.
func (c *Core) you(wire uint16) {
	before := c.ownEpoch != c.epoch
	c.ownEpoch = c.epoch
	if wire > world.MaxEntity || wire == c.own {
		return
	}
	if t := c.tracks[c.own]; t != nil && before {
		c.renewTrack(t)
	}
	c.own = wire
	c.guess.Own(wire)
	c.mine.ready = false
}

// Entered says that the server has let the player in over a new connection, if the server does not tell that first itself.
func (c *Core) Entered() {
	if c.entry != c.epoch {
		c.entry = c.epoch
		c.renew()
	}
}

// renew lets go of what connections before have told: a server that was started again has numbered entities anew. What is there it tells
// at once. The own entity stays until it is known which one that is.
func (c *Core) renew() {
	for i := len(c.list) - 1; i >= 0; i-- {
		if t := c.list[i]; t.wire != c.own {
			c.renewTrack(t)
		}
	}
}

// renewTrack lets go of what connections before have told of an entity.
func (c *Core) renewTrack(t *track) {
	if t.epoch != c.epoch || t.last().gone {
		c.lose(t)
		return
	}
	if t.begun == c.epoch {
		return
	}
	t.forget(len(t.samples) - 1) // it was told before the world was
	t.begun = c.epoch
	if t.drawn != 0 {
		t.drawn = 0
		c.erase = append(c.erase, t.wire)
	}
	c.guess.Drop(t.wire)
}

// sweep lets go of what the connection before has told, and this one has not in its first ticks: it is not in sight any more.
func (c *Core) sweep(tick uint64) {
	const first = 5 // ticks, in which a server tells of all that is in sight, or nearly
	if c.swept == c.epoch {
		return
	}
	if c.since == 0 {
		c.since = max(tick, 1)
	}
	if tick < c.since+first {
		return
	}
	c.swept = c.epoch
	for i := 0; i < len(c.list); i++ {
		if t := c.list[i]; t.epoch != c.epoch {
			c.lose(t)
			i--
		}
	}
}

// tickOf unwraps a tick of the wire.
func (c *Core) tickOf(wire uint32) uint64 { return serial.Bits(32).Unwrap(c.newest, wire) }

// hears notes that what was told of a tick has come.
func (c *Core) hears(now time.Time, tick uint64) {
	c.clock.Heard(now, tick)
	if !c.begun || tick > c.newest {
		c.newest, c.begun = tick, true
		c.sweep(tick)
	}
}

// predicts reports whether the own entity is predicted.
func (c *Core) predicts() bool { return !c.cfg.NoPrediction && c.mine.failed == nil && !c.busy() }

// busy reports whether there is no time to predict.
func (c *Core) busy() bool {
	before := c.rests
	if c.rests = c.cfg.Busy != nil && c.cfg.Busy(); c.rests && !before {
		c.stats.Rests++
	}
	return c.rests
}

// id returns the ID of a server's entity.
func (c *Core) id(wire uint16) world.ID { return c.guess.ID(wire) }

// finite reports whether a float is neither NaN nor infinite.
func finite(f float32) bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// chunk takes terrain, if it could be read.
func (c *Core) chunk(m message.Chunk, ok bool) {
	if !ok {
		return
	}
	cells := new(world.Cells)
	m.FillIn(cells)
	c.land(m.Place, cells)
}

// land takes terrain that the server tells. The frame has it with its next drawing.
func (c *Core) land(at world.ChunkPlace, cells *world.Cells) {
	c.guess.SetChunk(at, cells)
	if len(c.chunks) < maxChunks {
		c.chunks = append(c.chunks, chunk{at, cells})
	}
}

// chunk is terrain that is yet to be drawn.
type chunk struct {
	at    world.ChunkPlace
	cells *world.Cells
}

// assumed returns the tick that has come by now, for what has none: by the time since the last that was told.
func (c *Core) assumed(now time.Time) uint64 {
	if c.toldAt.IsZero() {
		c.toldAt, c.told = now, c.newest
	}
	return max(c.newest, c.told+uint64(max(0, now.Sub(c.toldAt)/c.period)))
}

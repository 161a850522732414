package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"parley/cluster/core"
	"parley/world"
)

// shared is what a room has that several servers run: its part in the log that they have together. What a player asks for becomes a wish
// (wish.go), and happens when an entry of the log has it: the sequencer has granted it then (sequence.go), and each server tells its own
// players (settle.go).
//
// The part calls the world on a worker (work), so that a step that fails or spins costs its room alone. Behind each entry the worker waits
// until the hub has told the players (tell): meanwhile the hub has the world, and the part must be left alone. Between two steps the room
// is quiet, and the hub may use both.
type shared struct {
	room *Room
	all  *alliance
	part core.Part
	node uint64
	quit chan struct{} // closed when the room has ended
	held chan struct{} // one for each call of the part that was not run yet: with maxHeldCalls the node's goroutines wait, and NATS with them

	posts    []func()      // what the part wants done with the world
	asked    []asked       // by players of this server, in the order of their numbers
	open     bool          // the world is loaded
	waiting  []func()      // what is to be done when it is
	unasked  []func() bool // what found the part busy, and is to be asked all the same
	heard    map[world.PlayerID]time.Time
	told     time.Time // when the others were told who is here
	swept    time.Time // when players were looked for who are nowhere
	leads    bool      // it makes them, as was known before a worker got the part
	sequence bool      // this server made the entries when it was looked at last
	wishes   int       // inputs and lines of players in asked, and their bytes: see mayWish
	bytes    int
	eased    time.Time // when players were last let ask for as much as in a tick
	text     []byte    // what the directory has of it
	renewed  bool      // it was opened with another version of the game
	schedule schedule
	logged   uint64    // the log has all ticks before this one
	used     time.Time // when somebody of this server last had to do with the room
	empty    time.Time // since when nobody is in it; zero if somebody is
	ending   bool      // it is being taken out of the directory
	gone     bool      // who waited to enter was told that it has ended
	elseNode uint64    // the server that has claimed most players lately
	elseMany int       // how many
	elseAt   time.Time // when

	// Of who has the world.
	doing   []func()
	goOn    chan struct{}
	mid     bool      // the worker waits until players are told
	ticked  bool      // an entry was run in this step
	loaded  bool      // the world is another than before
	spoken  []spoken  // the last lines of chat, for players who are away
	top     uint64    // players were told of all ticks before this one
	current bool      // all of the log was run that this server knows of
	behind  time.Time // since when it was not, at the earliest since it was loaded
	foreign bool      // the log is made with another version of the game: this stage is of no use
	silent  bool      // the world was loaded as it was before: it runs again what players were told
	undone  bool      // players were told of ticks that the log does not have
	over    bool      // the room has ended: nothing is done any more
	block   []byte
	news    []news
	claims  [][]byte // of other servers: who is there
	names   map[string]int
	roster  map[world.PlayerID]string
}

// far is when the next tick of a room is due whose ticks the log decides.
const far = 1000 * time.Hour

// share makes a room one of the cluster. The world is new.
func (r *Room) share(a *alliance, o *opening) (err error) {
	c := a.cluster
	x := &shared{
		room: r, all: a, node: c.ID(), quit: make(chan struct{}), held: make(chan struct{}, maxHeldCalls), goOn: make(chan struct{}), heard: map[world.PlayerID]time.Time{},
		names: map[string]int{}, roster: map[world.PlayerID]string{}, used: time.Now(), text: o.text, renewed: o.Version != r.hub.cfg.Game.Version,
	}
	r.shared, r.state, r.next = x, roomQuiet, r.hub.epoch.Add(far)
	r.sim.Keep(x.node, 0)
	x.part, err = c.Join(r.Name(), o.text, core.PartConfig{Period: r.hub.every(), World: x, Run: x.run, Here: x.hear, Stopped: x.stopped, Differs: x.differs, Hash: x.hash})
	if err == nil {
		r.hub.awake = append(r.hub.awake, r)
	}
	return err
}

// run is PartConfig.Run: any goroutine may call it, but the hub's and the workers, which it may wait for.
func (x *shared) run(fn func()) bool {
	select {
	case x.held <- struct{}{}:
	case <-x.quit:
		return false
	case <-x.room.hub.over:
		return false
	}
	select {
	case x.room.hub.commands <- func() { x.posts = append(x.posts, fn); x.next() }:
		return true
	case <-x.quit:
	case <-x.room.hub.over:
	}
	return false
}

// holds returns how much of what the part wants was not done yet. Any goroutine may call it.
func (x *shared) holds() int { return len(x.held) }

// wait has something done when the world is loaded, and, if it judges who is there, has run what it has missed. It reports whether fn is to wait for
// that. full means that too much waits already, or that the world takes so long that clients would lose their patience: fn is not done then.
func (x *shared) wait(judges bool, fn func()) (waits, full bool) {
	switch {
	case x.open && (!judges || x.knows()):
		return false, false
	case len(x.waiting) >= maxEntering, x.open && time.Since(x.behind) > maxCatchUp:
		return true, true
	}
	x.waiting = append(x.waiting, fn)
	return true, false
}

// knows reports whether the world is that of the log's end, as far as this server knows: who is not in it is not there.
func (x *shared) knows() bool { return x.current && !x.silent }

// look sees whether the world knows who is there, and lets those go on who wait for that, or have for too long. The room is quiet.
func (x *shared) look() {
	was := x.current
	if x.current = x.part.Current(); was && !x.current {
		x.behind = time.Now()
	}
	if x.open && (x.knows() || time.Since(x.behind) > maxCatchUp) {
		x.room.later = append(x.room.later, x.waiting...)
		x.waiting = nil
	}
}

// void has tokens be found on no server any more. One server does it.
func (x *shared) void(list []world.TokenHash) {
	if !x.open || !x.sequences() {
		return
	}
	for _, t := range list {
		x.all.forget(t, x.room.Name())
	}
}

// spent reports whether a ticket was used in this room.
func (x *shared) spent(serial world.Serial) bool {
	_, spent := x.room.sim.Spent(serial)
	return spent
}

// durable returns the tick below which the log has all: facts of later ones are not told.
func (x *shared) durable() uint64 { return x.logged }

// sequences reports whether this server makes the entries. While a worker has the part, it is what it was before.
func (x *shared) sequences() bool {
	if x.room.quiet() {
		x.leads = x.part.Sequences()
	}
	return x.leads
}

// next gives the room to a worker, if there is something to do and it is quiet.
func (x *shared) next() {
	r := x.room
	if len(x.posts) == 0 || r.state != roomQuiet || r.hub.workers.work == nil {
		return
	}
	x.doing, x.posts, x.leads = x.posts, x.doing[:0], x.part.Sequences()
	r.state, r.tick, r.looks, r.now, x.ticked = roomStepping, r.sim.Tick(), 0, time.Now(), false
	r.fate.Store(stepRuns)
	r.hub.workers.work <- r
}

// work does what the part wants. A worker calls it.
func (x *shared) work() {
	for i, fn := range x.doing {
		fn()
		x.doing[i] = nil
		<-x.held
	}
}

// tell waits until the hub has told players what has changed. A worker calls it.
func (x *shared) tell() {
	r := x.room
	select {
	case <-x.quit:
		x.over = true
	default:
	}
	if x.over {
		return
	}
	x.mid = true
	r.working.Store(false) // it waits, and does not spin
	r.hub.workers.done <- r
	select {
	case <-x.goOn:
	case <-x.quit:
		x.over = true
	}
	r.working.Store(true)
}

// returned takes the room back: an entry was run, or the step is over.
func (x *shared) returned() {
	r := x.room
	if x.undone {
		x.undo()
	}
	if x.mid {
		r.state, x.ticked, x.top = roomRan, true, r.sim.Tick()
		if x.loaded {
			x.loaded = false
			x.reconcile()
		}
		x.settle()
		r.settle()
		r.skipped = x.schedule.skipped(r.sim.Tick(), r.sim.Due(), r.hub.every(), r.skipped)
		r.due = x.schedule.began(time.Now(), r.sim.Due())
		r.pour(r.sim.Facts())
		r.hub.ran = append(r.hub.ran, r)
		return
	}
	r.state = roomQuiet
	x.look()
	x.logged = r.sim.Tick() - uint64(x.part.Ahead())
	x.hearAll()
	if x.ticked {
		x.keepUp()
		r.begin()
		x.eased = time.Now()
	}
	r.catchUp()
	x.next()
}

// resume has the worker go on: players are told.
func (x *shared) resume() {
	x.mid, x.room.state = false, roomStepping
	select {
	case x.goOn <- struct{}{}:
	case <-x.quit:
	}
}

// close ends the part of this server in the room. Others go on with it.
func (x *shared) close() {
	select {
	case <-x.quit:
		return
	default:
	}
	close(x.quit)
	if x.part != nil && x.room.quiet() {
		x.part.Close()
	}
}

// ended is called for a room that has ended in a step: when its worker waits for the hub, and when it is done. Until then the part is the worker's.
func (x *shared) ended() {
	if x.room.fate.Load() == stepDone {
		x.part.Close()
		x.letGo()
	}
}

// letGo has those told who wait to enter a room that has ended: no entry of the log answers them.
func (x *shared) letGo() {
	if x.gone {
		return
	}
	x.gone = true
	for i := range x.asked {
		if s := x.asked[i].seat; s != nil && (x.asked[i].kind == wishJoin || x.asked[i].kind == wishBack) {
			x.turnAway(s, x.room.noRoom(s))
		}
	}
	for _, fn := range x.waiting {
		fn()
	}
	x.waiting = nil
}

// turnAway has a connection told that it is not let in after all.
func (x *shared) turnAway(s *Seat, why error) {
	s.entering, s.early = false, nil
	x.room.entering--
	x.room.unseat(s)
	if !s.left {
		x.room.hub.refuse(s, why)
	}
}

// closeShared ends the parts in all rooms, so that no worker waits for the hub.
func (h *Hub) closeShared() {
	for _, r := range h.rooms {
		if r.shared != nil {
			r.shared.close()
		}
	}
}

// errStopped is why a stage ends that is of no use: its world differs from the others', or cannot be read.
var errStopped = errors.New("the room runs elsewhere: connect again")

// stopped is PartConfig.Stopped.
func (x *shared) stopped(why error) {
	h := x.room.hub
	h.log.Error("a room of the cluster ends on this server", "room", x.room.Name(), "err", why)
	select {
	case h.commands <- func() {
		if x.room.state != roomEnded {
			x.all.bar(x.room, why)
			h.end(x.room, errStopped)
		}
	}:
	case <-h.over:
	}
}

// The rest is core.World. A worker calls it.

func (x *shared) Next() uint64            { return x.room.sim.Tick() }
func (x *shared) Epoch() uint64           { return x.room.sim.Epoch() }
func (x *shared) Due() int64              { return x.room.sim.Due() }
func (x *shared) Done(node uint64) uint64 { return x.room.sim.Newest(node) }
func (x *shared) Awake() bool             { return x.room.sim.Players() > 0 || !x.room.sim.Settled() }

// Seal makes the entry of the next tick.
func (x *shared) Seal(due int64, epoch, skipped uint64) []byte {
	x.room.finish()
	x.room.sim.Rise(epoch)
	x.block = x.room.sim.Seal(due, skipped)
	return x.block
}

// Advance runs the entry that was sealed, which is in the log.
func (x *shared) Advance() {
	e, err := x.room.sim.ReadEntry(x.block)
	if err != nil {
		panic(fmt.Sprintf("gateway: an entry of our own cannot be read: %v", err))
	}
	x.read(e)
	x.room.sim.Advance()
	x.ran()
}

// ran has players told of an entry that was run, unless they were told of it before.
func (x *shared) ran() {
	switch now := x.room.sim.Tick(); {
	case !x.silent:
	case now < x.top:
		x.news = x.news[:0]
		return
	default:
		x.silent, x.loaded, x.news = false, true, x.news[:0]
	}
	x.tell()
}

// Head reads the beginning of an entry.
func (x *shared) Head(entry []byte) (world.EntryHead, error) { return world.ReadEntryHead(entry) }

// Apply runs an entry of another server.
func (x *shared) Apply(entry []byte) error {
	e, err := x.room.sim.ReadEntry(entry)
	if err != nil {
		return err
	}
	if err = x.sameVersion(e); err == nil {
		x.read(e)
		err = x.room.sim.Apply(e)
	}
	if err != nil {
		if x.news = x.news[:0]; errors.Is(err, world.ErrOtherGame) && !x.foreign {
			x.foreign = true
			x.stopped(err)
		}
		return err
	}
	x.ran()
	return nil
}

// Undone is told that the last ticks may not be in the log.
func (x *shared) Undone(ticks int) { x.undone, x.top = true, x.room.sim.Tick()-uint64(ticks) }

// hash is PartConfig.Hash. The world of a sim is another after each tick.
func (x *shared) hash() uint64 { return x.room.sim.World().Hash() }

// Snapshot returns the state.
func (x *shared) Snapshot() []byte { return x.room.sim.AppendSnapshot(nil) }

// Load makes the world that of a snapshot, or of the room's beginning. Clients keep the numbers by which they know entities.
func (x *shared) Load(snapshot []byte) (err error) {
	r := x.room
	var from *world.Sim
	if snapshot == nil {
		c := r.hub.cfg.World
		c.Seed, c.Mode = r.settings.Seed, r.settings.Mode
		if from, err = world.New(r.hub.cfg.Game, c); err == nil && x.renewed {
			from.Renew()
		}
	} else {
		from, _, err = world.Load(r.hub.cfg.Game, bytes.NewReader(snapshot))
	}
	if err != nil {
		return err
	}
	r.sim.Restore(from)
	clear(x.names)
	clear(x.roster)
	for p := range r.sim.World().Players() {
		x.enlist(p.ID, p.Name)
	}
	x.news = x.news[:0]
	if x.silent = r.sim.Tick() < x.top; x.silent { // a snapshot is older than what it is loaded for
		return nil
	}
	x.loaded = true
	x.tell()
	return nil
}

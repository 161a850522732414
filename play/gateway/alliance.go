package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/cluster/core"
	"parley/internal/admission"
	"parley/world"
)

// alliance is what a hub has whose rooms are those of a cluster: the directory of all rooms, of which a stage runs here when somebody wants to
// enter (stages.go, seek.go), and what lets players in on any server (notes.go). The hub's goroutine owns it, but for what says otherwise. The
// cluster's calls take their time, so they have goroutines of their own, and answer by post.
type alliance struct {
	hub      *Hub
	cluster  core.Cluster
	versions *versions
	rooms    map[string]*opening   // as the directory has them
	starts   map[string]*beginning // stages that are being made
	awaits   map[string][]*await   // rooms that are not known, and may be in a moment
	waiting  int                   // in awaits
	lookups  int                   // tokens that are looked up, or wait for it
	looking  chan struct{}         // one for each that is
	looks    *admission.Buckets
	begins   *admission.Buckets
	kept     time.Time // when tokens were noted again
	swept    time.Time
	orphans  map[string]int // rooms that no server runs, and how often that was seen

	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	work   sync.WaitGroup
	over   bool
	notes  []note
	noting bool // a goroutine is at them

	asking   sync.Mutex
	askedAt  time.Time          // when the other servers were asked which rooms they run
	stagesOf map[string]StageOf // what they said
	silent   error
}

// opening is what the directory says of a room.
type opening struct {
	Settings
	Fingerprint uint64 // of the game's schema
	Version     string `json:",omitempty"` // of the game, as the room was opened: servers with another take it over later
	Key         []byte `json:",omitempty"` // of the main room: for the tickets of matches

	text []byte // as the directory has it
}

func newAlliance(h *Hub, c core.Cluster, v *versions) *alliance {
	a := &alliance{
		hub: h, cluster: c, versions: v, rooms: map[string]*opening{}, starts: map[string]*beginning{}, awaits: map[string][]*await{}, orphans: map[string]int{},
		looking: make(chan struct{}, maxLooking), swept: time.Now(),
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	var secret admission.Key
	rand.Read(secret[:])
	burst := max(h.cfg.PerAddress, leastJoins)
	one := admission.Limit{Rate: lookRate, Burst: burst}
	if h.cfg.PerAddress < 0 {
		one = admission.NoLimit
	}
	a.looks = admission.NewBuckets(admission.BucketsConfig{Source: one, Prefix: admission.NoLimit, Total: admission.Limit{Rate: looksRate, Burst: looksBurst}}, secret)
	a.begins = admission.NewBuckets(admission.BucketsConfig{
		Source: admission.Limit{Rate: startRate, Burst: startBurst}, Prefix: admission.NoLimit, Total: admission.Limit{Rate: startsRate, Burst: startsBurst},
	}, secret)
	return a
}

// post has the hub do something. It returns false if the hub has ended, and then nothing is done.
func (a *alliance) post(fn func()) bool {
	select {
	case a.hub.commands <- fn:
		return true
	case <-a.hub.over:
	case <-a.ctx.Done():
	}
	return false
}

// spawn runs fn, which ends when the context does. After the end nothing is run.
func (a *alliance) spawn(fn func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.work.Go(fn)
	}
}

// end ends what is under way, and waits for it.
func (a *alliance) end() {
	a.versions.running.Store(nil)
	a.cancel()
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	a.work.Wait()
}

// soon has something done in a moment, on the hub's goroutine.
func (a *alliance) soon(fn func()) { a.after(soonTime, fn) }

func (a *alliance) after(d time.Duration, fn func()) {
	time.AfterFunc(d, func() { a.spawn(func() { a.post(fn) }) })
}

// begin follows the directory. The hub runs.
func (a *alliance) begin() error {
	a.versions.running.Store(&a.hub.cfg.Game.Version)
	a.cluster.WatchRooms(func(name string, settings []byte, there bool) {
		a.post(func() { a.told(name, settings, there) })
	})
	return errors.Join(a.cluster.Answer(roomsTopic, a.answerRooms), a.cluster.Answer(orderTopic, a.answerOrder))
}

// opening returns what this server would have a room be, and how the directory writes it.
func (a *alliance) opening(s Settings) (*opening, error) {
	o := &opening{Settings: s, Fingerprint: a.fingerprint(), Version: a.hub.cfg.Game.Version}
	if s.Name == MainRoom {
		o.Key = a.hub.gate.own
	}
	text, err := json.Marshal(o)
	o.text = text
	return o, err
}

func (a *alliance) fingerprint() uint64 {
	s, err := a.hub.cfg.Game.Schema()
	if err != nil { // it was prepared
		panic(err)
	}
	return s.Fingerprint()
}

// read reads what the directory has. What is opened here from then on is later, also if this server's clock is behind that of the one that has opened the
// room: events of rooms of one name are ordered by it (Place.Compare).
func (a *alliance) read(name string, text []byte) (*opening, error) {
	o := &opening{text: text}
	if err := json.Unmarshal(text, o); err != nil {
		return nil, fmt.Errorf("gateway: the settings of room %s: %w", name, err)
	}
	o.Name = name
	a.hub.opened = max(a.hub.opened, o.Opened)
	return o, nil
}

// ErrOtherSchema means that a room of the cluster is of a game with another schema.
var ErrOtherSchema = errors.New("gateway: another schema")

// fits returns why a room cannot run here, if it cannot.
func (a *alliance) fits(o *opening) error {
	if b, is := a.hub.barred[o.Name]; is && b.opened == o.Opened {
		return b.why
	}
	if f := a.fingerprint(); o.Fingerprint != f {
		return fmt.Errorf("%w: room %s is of a game with the schema %016x, and this game's is %016x: serve it in a cluster of its own", ErrOtherSchema, o.Name, o.Fingerprint, f)
	}
	return nil
}

// main makes the stage of the main room, which every server has.
func (a *alliance) main(s Settings) (*Room, error) {
	mine, err := a.opening(s)
	if err != nil {
		return nil, err
	}
	theirs, err := a.cluster.Settle(MainRoom, mine.text)
	if err != nil {
		return nil, fmt.Errorf("gateway: room %s: %w", MainRoom, err)
	}
	o, err := a.read(MainRoom, theirs)
	if err == nil {
		err = a.fits(o)
	}
	if err == nil {
		err = a.versions.alike(a.ctx, mine.Version, o.Version)
	}
	if err != nil {
		return nil, err
	}
	if len(o.Key) == ownKeyBytes {
		a.hub.gate.own = o.Key
	}
	a.rooms[MainRoom] = o
	sim, err := a.world(o)
	if err != nil {
		return nil, err
	}
	return a.stage(o, sim)
}

// told takes what the directory tells of a room.
func (a *alliance) told(name string, text []byte, there bool) {
	h := a.hub
	if !there {
		delete(a.rooms, name)
		a.unbar(name)
		if r := h.rooms[name]; r != nil && r != h.main {
			h.end(r, errRoomClosed)
		}
		return
	}
	o, err := a.read(name, text)
	if err != nil {
		h.log.Error("a room of the cluster cannot be read", "room", name, "err", err)
		return
	}
	a.rooms[name] = o
	if b, is := h.barred[name]; is && b.opened != o.Opened {
		a.unbar(name)
		if name == MainRoom {
			a.beginMain(o)
		}
	}
	if r := h.rooms[name]; r != nil && r.settings.Opened != o.Opened { // it ended, and came again
		if r == h.main {
			a.lateMain(o)
		} else {
			h.end(r, errRoomClosed)
		}
	}
	list := a.awaits[name]
	delete(a.awaits, name)
	for _, w := range list {
		a.waiting--
		w.found(o)
	}
}

// ended takes a room out of the directory whose game has ended it, when the servers that run it have its last entry.
func (a *alliance) ended(r *Room) {
	name := r.Name()
	o := a.rooms[name]
	if o == nil || o.Opened != r.settings.Opened {
		return
	}
	delete(a.rooms, name) // nobody is to enter it
	a.after(overTime, func() { a.endEmpty(name, o, nil) })
}

// open puts a room into the directory, and has a stage of it here.
func (a *alliance) open(s Settings) error {
	h := a.hub
	var o *opening
	var why error
	err := h.Do(func() {
		most := h.cfg.MaxRooms * max(len(a.cluster.Living()), 1)
		if s.Match || s.ByPlayers {
			most -= most / operatorShare
		}
		switch s = h.fill(s); {
		case len(a.rooms) >= most: // whether there is one of that name the store says: this server may not have heard yet
			why = fmt.Errorf("%w: %d", ErrRooms, most)
		default:
			o, why = a.opening(s)
		}
	})
	if err = errors.Join(err, why); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.ctx, openTime)
	defer cancel()
	created, err := a.cluster.CreateRoom(ctx, s.Name, o.text)
	if err != nil {
		return fmt.Errorf("parley: room %s: %w", s.Name, err)
	}
	if !created {
		return fmt.Errorf("%w: %s", ErrRoomThere, s.Name)
	}
	if s.Match { // it runs where its players come
		return h.Do(func() { a.told(s.Name, o.text, true) })
	}
	if err := h.Do(func() { a.told(s.Name, o.text, true) }); err != nil {
		return err
	}
	return a.bring(ctx, s.Name)
}

// closeRoom takes a room out of the directory, and so from all servers.
func (a *alliance) closeRoom(name string) error {
	if name == MainRoom {
		return ErrMainRoom
	}
	ctx, cancel := context.WithTimeout(a.ctx, openTime)
	defer cancel()
	text, there, err := a.cluster.RoomSettings(ctx, name)
	if err == nil && there {
		there, err = a.cluster.EndRoomOf(ctx, name, text)
	}
	switch {
	case err != nil:
		return fmt.Errorf("parley: room %s: %w", name, err)
	case !there:
		return fmt.Errorf("%w: %s", ErrNoRoom, name)
	}
	return a.hub.Do(func() {
		if o := a.rooms[name]; o != nil && string(o.text) == string(text) {
			a.told(name, nil, false)
		}
	})
}

// world makes the world of a room, as it is at its beginning. Code of the game runs: a panic of it costs this room alone.
func (a *alliance) world(o *opening) (sim *world.Sim, err error) {
	h := a.hub
	id := goroutine()
	h.workers.ids.Store(id, true)
	defer h.workers.ids.Delete(id)
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("gateway: room %s: the game panicked at its beginning: %v", o.Name, why)
		}
	}()
	c := h.cfg.World
	c.Seed, c.Mode = o.Seed, o.Mode
	return world.New(h.cfg.Game, c)
}

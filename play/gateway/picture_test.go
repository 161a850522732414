package gateway

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/kit"
	"parley/internal/kit/chance"
	"parley/internal/kit/tcp"
	"parley/internal/promise"
	"parley/play/message"
	"parley/play/picture"
	"parley/play/schema"
	"parley/protocol/duplex"
	duplexcore "parley/protocol/duplex/core"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/protocol/replica"
	replicacore "parley/protocol/replica/core"
	"parley/simnet"
	"parley/world"
)

// A viewer is a client with a picture, over the core of a dialect and a simulated network.
type viewer struct {
	*picture.Core
	net   *simnet.Network
	host  *simnet.Host
	node  viewerNode
	hub   *Hub
	rand  *rand.Rand
	path  simnet.Profile
	unix  func(now time.Time) uint64 // the server's clock, over realm
	again int

	truth    map[uint64]map[uint16]world.Body // after each tick
	own      uint16
	walkers  []world.PlayerID
	refused  []refusal
	warm     bool
	angle    float32
	norm     float32
	asked    bool       // the next frame is the first after a steer
	was      world.Body // the own body at that moment
	askedFor uint64     // the tick that the steer is for
	askedAt  float64    // and the own tick at which it was made
	wasTick  float64
	figures  viewFigures
}

type viewerNode interface {
	simnet.Node
	turn(now time.Time)
}

// viewFigures are what was measured, each value by itself.
type viewFigures struct {
	atTicks  []drawnBody // the own body, when an own tick begins
	atFrames []drawnBody
	others   []drawnBody
	leads    []float64 // of the own tick to the server's, in ms
	delays   []float64 // of the others to the server's, in ms
	back     int       // steps backwards
	inputs   int       // steers
	unseen   int       // those that the next frame did not show
	stuck    []uint64  // ticks in which the own body did not move as it was to
	blocked  int       // ticks at which a wall stopped the own body
	stats    picture.Stats
	seconds  float64
}

// drawnBody is where something was drawn, at a tick.
type drawnBody struct {
	wire uint16
	tick float64
	x, y float64
}

type viewDialect struct {
	server func(now time.Time, seed uint64, h *Hub) aimCore
	client func(v *viewer, seed uint64) viewerNode
	order  bool
	again  int // ticks of which the world may be another later, as inputs are done in the past
}

var viewDialects = map[string]viewDialect{
	"relay":   {aimRelay.server, newRelayViewer, false, 0},
	"replica": {aimReplica.server, newReplicaViewer, false, 0},
	"duplex":  {aimDuplex.server, newDuplexViewer, true, 0}, // "each update of duplex is a datagram, and one that another has overtaken is dropped"
}

type relayViewer struct {
	*relaycore.Endpoint
	reader *picture.Relay
}

func newRelayViewer(v *viewer, seed uint64) viewerNode {
	e := must(relaycore.NewClient(v.net.Now(), kit.ServerAddr, relaycore.Config{}, &relaycore.Shared{Rand: rand.New(rand.NewPCG(seed, 2))}))
	return &relayViewer{e, picture.NewRelay(v.Core, func(mode relay.Mode, to relaycore.Target, b []byte) error {
		if e.State() == relaycore.StateJoining {
			return nil
		}
		return e.Send(v.net.Now(), mode, to, b)
	})}
}

func (c *relayViewer) turn(now time.Time) {
	c.Advance(now)
	for ev, ok := c.PollEvent(); ok; ev, ok = c.PollEvent() {
		c.reader.Read(now, ev)
	}
}

type replicaViewer struct {
	*replicacore.Endpoint
	reader *picture.Replica
}

func newReplicaViewer(v *viewer, seed uint64) viewerNode {
	e := replicacore.NewClient(v.net.Now(), kit.ServerAddr, replicacore.Config{Detail: true}, &replicacore.Shared{Rand: rand.New(rand.NewPCG(seed, 2))})
	return &replicaViewer{e, picture.NewReplica(v.Core, func(mode replica.Mode, name string, b []byte) error {
		return e.Send(v.net.Now(), mode, name, b)
	})}
}

func (c *replicaViewer) turn(now time.Time) {
	for ev, ok := c.PollEvent(); ok; ev, ok = c.PollEvent() {
		if ev.Kind == replica.EventConnected {
			must(0, c.Link(now))
			continue
		}
		c.reader.Read(now, ev)
	}
}

type duplexViewer struct {
	*slowDuplexClient
	v      *viewer
	reader *picture.Duplex
}

func newDuplexViewer(v *viewer, seed uint64) viewerNode {
	e := duplexcore.NewClient(v.net.Now(), kit.ServerAddr, kit.ServerAddr, duplexcore.Config{Schema: schema.Duplex(v.hub.Schema()), Pass: message.AppendSized(nil, nil)}, &duplexcore.Shared{Rand: rand.New(rand.NewPCG(seed, 2))})
	return &duplexViewer{&slowDuplexClient{Endpoint: e, pipe: tcp.NewPipe(kit.ServerAddr, tcp.Cubic)}, v, nil}
}

func (c *duplexViewer) turn(now time.Time) {
	c.Advance(now)
	for b := c.pipe.Read(); ; {
		n := c.HandleBytes(now, b)
		b = b[n:]
		for ev, ok := c.PollEvent(); ok; ev, ok = c.PollEvent() {
			switch {
			case ev.Kind == duplex.EventClosed:
				panic(ev.Close.Error())
			case ev.Kind == duplex.EventReply:
			case ev.Kind == duplex.EventJoined:
				c.reader = picture.NewDuplex(c.v.Core, c.Player(), ev.Up, picture.DuplexSend{
					Update: func(sid int16, b []byte) error { return c.Update(c.v.net.Now(), sid, b) },
					Sync:   func(sid int16, b []byte) error { return c.Sync(c.v.net.Now(), sid, b) },
					Query: func(code uint8, b []byte) error {
						_, err := c.Query(c.v.net.Now(), duplex.Main, code, b)
						return err
					},
				})
			case c.reader != nil:
				c.reader.Read(now, ev)
			}
		}
		if len(b) == 0 {
			return
		}
	}
}

const viewTick = time.Second / 20

// newViewer has a player enter the arena over a path, among some walkers.
func newViewer(t *testing.T, dialect string, seed uint64, path simnet.Profile, walkers int, c picture.Config) *viewer {
	t.Helper()
	return newViewerOf(t, must(picture.New(arena.Game(), c)), dialect, seed, path, walkers, c, 0, 0)
}

// newViewerOf is newViewer with a picture that may have been of another server before, and comes to this one at a time on its clock. The server begins at
// another time.
func newViewerOf(t *testing.T, core *picture.Core, dialect string, seed uint64, path simnet.Profile, walkers int, c picture.Config, begins, at time.Duration) *viewer {
	t.Helper()
	d, ok := viewDialects[dialect]
	if !ok {
		d = viewRealm
	}
	h := must(New(Config{Game: arena.Game(), World: world.Config{Seed: seed, MaxShownTicks: d.again}}))
	v := &viewer{
		Core: core, net: simnet.New(seed), hub: h, rand: rand.New(rand.NewPCG(seed, 5)),
		truth: map[uint64]map[uint16]world.Body{}, path: path, again: d.again,
	}
	v.net.SetLimits(simnet.Limits{Steps: 50_000_000})
	must(0, v.net.Run(begins))
	server := d.server(v.net.Now(), seed, h)
	if r, ok := server.(*viewRealmServer); ok {
		v.unix = r.Unix
		r.refused = func(tick uint64) { v.refused = append(v.refused, refusal{tick, h.Sim().Tick()}) }
	}
	host := v.net.Add(kit.ServerAddr, server).Named("server")
	host.AfterTurn(func(now time.Time) { server.Turn(now, func(netip.AddrPort, uint32, uint32) {}) })
	for range walkers {
		p, err := h.Sim().Join("walker")
		if err != nil {
			t.Fatal(err)
		}
		v.walkers = append(v.walkers, p)
	}
	var tick func()
	tick = func() {
		v.walk()
		server.Tick(v.net.Now())
		host.Poke()
		v.record()
		v.net.After(viewTick, "world", tick)
	}
	tick()
	must(0, v.net.Run(at-begins))
	v.Connected(v.net.Now())
	v.node = d.client(v, seed)
	v.host = v.net.Add(kit.ClientAddr, v.node).Named("player")
	v.host.AfterTurn(v.node.turn)
	path.KeepOrder = d.order
	v.net.Route(host, v.host, v.net.NewLink(path))
	v.net.Route(v.host, host, v.net.NewLink(path))
	fates := v.Stats().Fates
	v.pump()
	if err := v.net.RunUntil(func() bool {
		if v.Stats().Fates == fates && !c.NoPrediction {
			return false // it may be the own body of before
		}
		return v.Frame(v.net.Now()).Own() != 0 && v.Frame(v.net.Now()).OwnTick > 0 || c.NoPrediction && v.Frame(v.net.Now()).Own() != 0
	}, 30*time.Second); err != nil {
		t.Fatalf("seed=%d: the player is not in: %v", seed, err)
	}
	v.own = uint16(v.Frame(v.net.Now()).Own())
	return v
}

// walk has the walkers stay near the player, and turn now and then.
func (v *viewer) walk() {
	sim := v.hub.Sim()
	own := v.truth[sim.Tick()-1][v.own]
	for _, p := range v.walkers {
		_, b := world.Avatar[arena.Player](sim.World(), p)
		if b == nil {
			continue
		}
		st := world.Steering{Angle: b.Angle, Norm: arena.PlayerSpeed, HasAngle: true, HasNorm: true}
		switch far := math.Hypot(b.X-own.X, b.Y-own.Y); {
		case far > 60 && v.rand.IntN(10) == 0:
			st.Angle = world.Heading(b.X, b.Y, own.X, own.Y)
		case v.rand.IntN(20) == 0:
			st.Angle = float32(v.rand.Float64() * 2 * math.Pi)
		case v.rand.IntN(40) == 0:
			st.Norm = 0
		default:
			continue
		}
		id, _ := world.Avatar[arena.Player](sim.World(), p)
		st.Entity = id
		sim.Steer(p, sim.Tick(), st, 0)
	}
}

// record notes what is so after a tick.
func (v *viewer) record() {
	sim := v.hub.Sim()
	bodies := map[uint16]world.Body{}
	if own, was := v.truth[sim.Tick()-2][v.own], v.truth[sim.Tick()-3][v.own]; own.Norm > 0 && own.X == was.X && own.Y == was.Y {
		v.figures.blocked++
	}
	for id, p := range world.All[arena.Player](sim.World()) {
		if wire := sim.Wire(id); wire != 0 {
			bodies[wire] = p.Body
		}
	}
	v.truth[sim.Tick()-1] = bodies
	for back := range uint64(v.again) { // inputs were done in the past since
		w, tick := sim.World(), sim.Tick()-2-back
		if past := w.At(tick); past.Tick() == tick && v.truth[tick] != nil {
			if b, ok := past.Body(sim.ByWire(v.own)); ok {
				v.truth[tick][v.own] = b
			}
		}
	}
}

// pump calls the core when it asks for it.
func (v *viewer) pump() {
	now := v.net.Now()
	v.HandleTimeout(now)
	v.host.Poke()
	if v.warm {
		if f := v.Frame(now); f.OwnTick > 0 && f.OwnTick-math.Floor(f.OwnTick) < .005 {
			if b := f.World().Body(f.Own()); b != nil {
				v.figures.atTicks = append(v.figures.atTicks, drawnBody{v.own, f.OwnTick, b.X, b.Y})
			}
		}
	}
	next, _ := v.NextTimeout()
	v.net.After(max(next.Sub(now), 10*time.Microsecond), "own", v.pump)
}

// draw draws a frame, 60 times a second.
func (v *viewer) draw() {
	now := v.net.Now()
	f := v.Frame(now)
	v.host.Poke()
	v.net.After(time.Second/60, "frame", v.draw)
	b := f.World().Body(f.Own())
	if b == nil {
		return
	}
	v.judge(b, f.OwnTick)
	if !v.warm {
		return
	}
	at := float64(v.net.Elapsed()) / float64(viewTick)
	if f.Tick < v.wasTick {
		v.figures.back++
	}
	v.wasTick = f.Tick
	own := f.OwnTick
	if own == 0 {
		own = at // without prediction: what is so at the server now
	} else {
		v.figures.leads = append(v.figures.leads, (own-at)*1000/20)
	}
	v.figures.atFrames = append(v.figures.atFrames, drawnBody{v.own, own, b.X, b.Y})
	v.figures.delays = append(v.figures.delays, (at-f.Tick)*1000/20)
	for id, p := range world.All[arena.Player](f.World()) {
		if id != f.Own() {
			v.figures.others = append(v.figures.others, drawnBody{uint16(id), f.Tick, p.X, p.Y})
		}
	}
}

// judge looks whether the first frame after a steer shows it: the body looks the new way, and moves if it is to and any of its time has passed. If
// it does not, a wall has to be there, and the server's body does not go all the way in that tick.
func (v *viewer) judge(b *world.Body, own float64) {
	if !v.asked || !v.warm {
		return
	}
	v.asked = false
	v.figures.inputs++
	turned := math.Abs(math.Remainder(float64(b.Angle-v.angle), 2*math.Pi)) < 1e-3
	gone := (b.X-v.was.X)*math.Cos(float64(v.angle)) + (b.Y-v.was.Y)*math.Sin(float64(v.angle))
	switch {
	case !turned:
		v.figures.unseen++
	case v.norm > 0 && gone <= 0 && own > v.askedAt:
		v.figures.stuck = append(v.figures.stuck, v.askedFor)
	}
}

// steer has the player turn or stop, once a second or so.
func (v *viewer) steer() {
	if f := v.Frame(v.net.Now()); f.Own() != 0 {
		v.was, v.askedFor, v.askedAt = *f.World().Body(f.Own()), uint64(f.OwnTick)+1, f.OwnTick
	}
	v.angle, v.norm = float32(v.rand.Float64()*2*math.Pi), arena.PlayerSpeed
	if v.rand.IntN(6) == 0 {
		v.norm = 0
	}
	v.Steer(v.net.Now(), v.angle, v.norm)
	v.asked = v.warm
	v.host.Poke()
	v.net.After(200*time.Millisecond+time.Duration(v.rand.Int64N(int64(1600*time.Millisecond))), "steer", v.steer)
}

// errors returns how far from the truth bodies were drawn.
func (v *viewer) errors(list []drawnBody) (off []float64) {
	for _, d := range list {
		low := uint64(d.tick)
		a, ok := v.truth[low][d.wire]
		b, more := v.truth[low+1][d.wire]
		if !ok || !more {
			continue
		}
		part := d.tick - float64(low)
		x, y := a.X+(b.X-a.X)*part, a.Y+(b.Y-a.Y)*part
		off = append(off, math.Hypot(x-d.x, y-d.y))
	}
	return off
}

func (v *viewer) play(t *testing.T, warm, long time.Duration) {
	t.Helper()
	v.draw()
	v.steer()
	if err := v.net.Run(warm); err != nil {
		t.Fatalf("seed=%d: %v", v.net.Seed(), err)
	}
	v.warm = true
	before := v.Stats()
	if err := v.net.Run(long); err != nil {
		t.Fatalf("seed=%d: %v", v.net.Seed(), err)
	}
	after := v.Stats()
	after.Frames -= before.Frames
	after.Unbracketed -= before.Unbracketed
	after.Large -= before.Large
	after.Wrong -= before.Wrong
	after.Fates -= before.Fates
	after.Snapped -= before.Snapped
	v.figures.stats, v.figures.seconds = after, long.Seconds()
}

// quantile returns a quantile of values, which it sorts.
func quantileOf(list []float64, q float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	slices.Sort(list)
	return list[min(len(list)-1, int(q*float64(len(list))))]
}

func meanOf(list []float64) (sum float64) {
	for _, v := range list {
		sum += v
	}
	return sum / float64(max(1, len(list)))
}

// add adds what another player has measured. Errors are by then known.
func (f *viewFigures) add(v *viewer, sums *viewSums) {
	g := &v.figures
	sums.ticks = append(sums.ticks, v.errors(g.atTicks)...)
	sums.frames = append(sums.frames, v.errors(g.atFrames)...)
	sums.others = append(sums.others, v.errors(g.others)...)
	f.leads = append(f.leads, g.leads...)
	f.delays = append(f.delays, g.delays...)
	for _, tick := range g.stuck {
		if was, is := v.truth[tick-1][v.own], v.truth[tick][v.own]; is.Norm > 0 && math.Hypot(was.X-is.X, was.Y-is.Y) > .99*float64(is.Norm) {
			g.unseen++
		}
	}
	f.back, f.inputs, f.unseen, f.blocked = f.back+g.back, f.inputs+g.inputs, f.unseen+g.unseen, f.blocked+g.blocked
	f.seconds += g.seconds
	s, o := &f.stats, &g.stats
	s.Frames, s.Unbracketed, s.Large, s.Wrong, s.Snapped, s.Fates = s.Frames+o.Frames, s.Unbracketed+o.Unbracketed, s.Large+o.Large, s.Wrong+o.Wrong, s.Snapped+o.Snapped, s.Fates+o.Fates
}

// viewSums are errors in cells.
type viewSums struct{ ticks, frames, others []float64 }

// shareOver returns the part of values that is over one.
func shareOver(list []float64, most float64) float64 {
	n := 0
	for _, v := range list {
		if v > most {
			n++
		}
	}
	return float64(n) / float64(max(1, len(list)))
}

// What a player sees is what the server has: the own body at the same tick, at once, and others a little later (T81). The own body walks and turns
// among the arena's walls, with other walkers in sight. The lines of the log are those of docs/client.md.
func TestThePicture(t *testing.T) {
	if chance.Race {
		t.Skip("virtual time is one goroutine")
	}
	const jitter = 20 * time.Millisecond
	dialects, trips, losses := []string{"replica"}, []time.Duration{100 * time.Millisecond}, []float64{.05}
	if promise.Full() || promise.Tier(0, 0, 1) > 0 {
		dialects, trips, losses = []string{"replica", "relay", "duplex"}, []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond}, []float64{0, .02, .05}
	}
	for _, d := range dialects {
		t.Run(d, func(t *testing.T) {
			seeds := chance.Seeds(promise.Keeps(t, "T81", d, promise.Tier(1, 20, 200)))
			for _, trip := range trips {
				for _, loss := range losses {
					path := simnet.Profile{Delay: trip/2 - jitter/2, Jitter: jitter, Loss: loss}
					viewRow(t, d, path, trip, seeds, picture.Config{})
					if trip == 100*time.Millisecond && loss == .05 {
						viewRow(t, d, path, trip, seeds[:1], picture.Config{NoPrediction: true})
					}
				}
			}
		})
	}
}

// viewRow plays over a path with all seeds, and holds what was measured against the bars.
func viewRow(t *testing.T, dialect string, path simnet.Profile, trip time.Duration, seeds []uint64, c picture.Config) {
	t.Helper()
	var f viewFigures
	var off viewSums
	for _, seed := range seeds {
		v := newViewer(t, dialect, seed, path, 6, c)
		v.play(t, 8*time.Second, 30*time.Second)
		f.add(v, &off)
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	large := float64(f.stats.Large) / f.seconds * 60
	oneWay, tick := ms(trip)/2, ms(viewTick)
	mostLead, mostDelay := oneWay+.99*ms(path.Jitter)+tick, 2*tick+.95*ms(path.Jitter)
	for i := range f.delays {
		f.delays[i] -= oneWay // after what comes could have been drawn
	}
	t.Logf("| %s | %d ms | %g%% | %v | at ticks %.4f, p99 %.4f | between %.3f, p99 %.3f | %.2f a minute | lead %.0f ms, p95 %.0f, p99 %.0f (%.0f) | others %.3f, p99 %.3f, over half a cell %.3f%% | delay %.0f ms, p95 %.0f, p99 %.0f (%.0f) | %.3f%% | %d of %d steers | %d steps back |",
		dialect, trip.Milliseconds(), 100*path.Loss, !c.NoPrediction, meanOf(off.ticks), quantileOf(off.ticks, .99), meanOf(off.frames), quantileOf(off.frames, .99), large, meanOf(f.leads), quantileOf(f.leads, .95), quantileOf(f.leads, .99), mostLead,
		meanOf(off.others), quantileOf(off.others, .99), 100*shareOver(off.others, .5), meanOf(f.delays), quantileOf(f.delays, .95), quantileOf(f.delays, .99), mostDelay, 100*float64(f.stats.Unbracketed)/float64(f.stats.Frames), f.unseen, f.inputs, f.back)
	row := fmt.Sprintf("%s, %v, loss %g%%, seeds=%v", dialect, trip, 100*path.Loss, seeds)
	check := func(ok bool, what string, is, most float64) {
		if !ok {
			t.Errorf("%s: %s: %.4f, and %.4f is the most", row, what, is, most)
		}
	}
	check(f.back == 0, "steps backwards", float64(f.back), 0)
	check(float64(f.stats.Unbracketed) <= .001*float64(f.stats.Frames), "frames before what they show", float64(f.stats.Unbracketed), .001*float64(f.stats.Frames))
	check(quantileOf(f.delays, .95) <= mostDelay, "delay of others, ms, p95", quantileOf(f.delays, .95), mostDelay)
	check(f.inputs >= 10*len(seeds), "steers that are missing", float64(10*len(seeds)-f.inputs), 0)
	if c.NoPrediction {
		return
	}
	check(f.blocked > 0 || len(seeds) < 5, "plays without a wall", 1, 0)
	check(f.unseen == 0, "steers that the next frame does not show", float64(f.unseen), 0)
	check(len(off.ticks) > 400*len(seeds) && quantileOf(off.ticks, .99) <= .05, "error of the own body at ticks, p99", quantileOf(off.ticks, .99), .05)
	check(large <= 1, "corrections over half a cell, a minute", large, 1)
	most := .95
	if len(seeds) < 100 {
		most = .9 // one run of 20 that begins with too long a lead, and takes 30 s to come down, is 5% of all moments
	}
	check(quantileOf(f.leads, most) <= mostLead, "lead, ms", quantileOf(f.leads, most), mostLead)
}

// What a stream has lost is mostly no narrow path: over duplex with loss others are told on. Where it is taken for one, they are 3 to 6 cells off in the
// mean and p95 is 20 to 40. One run in five at 200 ms still has seconds in which they stand: so p99 is 3 cells in 200 runs, and anything in few.
func TestLossIsNoNarrowPath(t *testing.T) {
	if chance.Race {
		t.Skip("virtual time is one goroutine")
	}
	const jitter = 20 * time.Millisecond
	for _, trip := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond} {
		var f viewFigures
		var off viewSums
		seeds := chance.Seeds(promise.Tier(8, 20, 200))
		for _, seed := range seeds {
			v := newViewer(t, "duplex", seed, simnet.Profile{Delay: trip/2 - jitter/2, Jitter: jitter, Loss: .05}, 6, picture.Config{})
			v.play(t, 8*time.Second, 30*time.Second)
			f.add(v, &off)
		}
		mean, p95 := meanOf(off.others), quantileOf(off.others, .95)
		t.Logf("%v: others are %.2f cells off in the mean, p95 %.2f, p99 %.2f", trip, mean, p95, quantileOf(off.others, .99))
		if mean > 1 || p95 > 5 {
			t.Errorf("%v, seeds=%v: others are %.2f cells off in the mean, p95 %.2f", trip, seeds, mean, p95)
		}
	}
}

// What the player throws flies at once, and goes on evenly when it becomes the server's ball, over each dialect.
func TestThrownBallsFlyOn(t *testing.T) {
	if chance.Race {
		t.Skip("virtual time is one goroutine")
	}
	const jitter = 20 * time.Millisecond
	for d := range viewDialects {
		t.Run(d, func(t *testing.T) {
			v := newViewer(t, d, chance.Seed(t, 3), simnet.Profile{Delay: 40 * time.Millisecond, Jitter: jitter}, 2, picture.Config{})
			v.play(t, 5*time.Second, 0)
			throw := v.Schema().ActionNamed("throw")
			drawn := map[world.ID]world.Body{}
			thrown, seen, back := 0, 0, 0
			var act, look func()
			act = func() {
				if b := v.Frame(v.net.Now()).World().Body(v.Frame(v.net.Now()).Own()); b != nil {
					thrown++
					must(0, v.Act(v.net.Now(), throw, []world.Value{world.FloatValue(world.F32, float64(b.Angle)), world.UintValue(world.Entity, 0)}))
					v.host.Poke()
					for id := range world.All[arena.Ball](v.Frame(v.net.Now()).World()) {
						if _, ok := drawn[id]; !ok && id > world.MaxEntity {
							seen++
							break
						}
					}
				}
				v.net.After(900*time.Millisecond, "throw", act)
			}
			look = func() {
				for id, ball := range world.All[arena.Ball](v.Frame(v.net.Now()).World()) {
					if was, ok := drawn[id]; ok && (ball.X-was.X)*math.Cos(float64(ball.Angle))+(ball.Y-was.Y)*math.Sin(float64(ball.Angle)) < -.5 {
						back++
					}
					drawn[id] = ball.Body
				}
				v.net.After(time.Second/60, "look", look)
			}
			act()
			look()
			must(0, v.net.Run(30*time.Second))
			s := v.Stats()
			t.Logf("%d thrown, %d seen at once, %d adopted, %d undone, %d steps back", thrown, seen, s.Adopted, s.Undone, back)
			if seen < thrown/2 || int(s.Adopted) < seen-1 || back > 0 { // a ball that is thrown at a wall is none
				t.Errorf("%d thrown, %d seen at once, %d adopted, %d undone, %d steps back", thrown, seen, s.Adopted, s.Undone, back)
			}
		})
	}
}

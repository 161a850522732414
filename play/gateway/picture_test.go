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
	net  *simnet.Network
	host *simnet.Host
	node viewerNode
	hub  *Hub
	rand *rand.Rand

	truth    map[uint64]map[uint16]world.Body // after each tick
	own      uint16
	walkers  []world.PlayerID
	warm     bool
	angle    float32
	norm     float32
	stalled  int // frames since a steer that did not show it
	shownIn  []int
	asked    bool
	wasTick  float64
	wasBody  world.Body
	figures  viewFigures
	measured func(f *picture.Frame)
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
	inputs   []int     // frames until an input was seen
	stats    picture.Stats
	seconds  float64
}

// drawnBody is where something was drawn, at a tick.
type drawnBody struct {
	wire uint16
	tick float64
	x, y float64
}

var viewDialects = map[string]struct {
	server func(now time.Time, seed uint64, h *Hub) aimCore
	client func(v *viewer, seed uint64) viewerNode
	order  bool
}{
	"relay":   {aimRelay.server, newRelayViewer, false},
	"replica": {aimReplica.server, newReplicaViewer, false},
	"duplex":  {aimDuplex.server, newDuplexViewer, true}, // "each update of duplex is a datagram, and one that another has overtaken is dropped"
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
	asked  map[uint32]uint8
}

func newDuplexViewer(v *viewer, seed uint64) viewerNode {
	e := duplexcore.NewClient(v.net.Now(), kit.ServerAddr, kit.ServerAddr, duplexcore.Config{Schema: schema.Duplex(v.hub.Schema()), Pass: message.AppendSized(nil, nil)}, &duplexcore.Shared{Rand: rand.New(rand.NewPCG(seed, 2))})
	return &duplexViewer{&slowDuplexClient{Endpoint: e, pipe: tcp.NewPipe(kit.ServerAddr, tcp.Cubic)}, v, nil, map[uint32]uint8{}}
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
				c.reader.Replied(c.asked[ev.ID], ev.Status)
				delete(c.asked, ev.ID)
			case ev.Kind == duplex.EventJoined:
				c.reader = picture.NewDuplex(c.v.Core, c.Player(), ev.Up, picture.DuplexSend{
					Update: func(sid int16, b []byte) error { return c.Update(c.v.net.Now(), sid, b) },
					Sync:   func(sid int16, b []byte) error { return c.Sync(c.v.net.Now(), sid, b) },
					Query: func(code uint8, b []byte) error {
						id, err := c.Query(c.v.net.Now(), duplex.Main, code, b)
						c.asked[id] = code
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
	d := viewDialects[dialect]
	h := must(New(Config{Game: arena.Game(), World: world.Config{Seed: seed}}))
	v := &viewer{
		Core: must(picture.New(arena.Game(), c)), net: simnet.New(seed), hub: h, rand: rand.New(rand.NewPCG(seed, 5)),
		truth: map[uint64]map[uint16]world.Body{},
	}
	v.net.SetLimits(simnet.Limits{Steps: 50_000_000})
	server := d.server(v.net.Now(), seed, h)
	host := v.net.Add(kit.ServerAddr, server).Named("server")
	host.AfterTurn(func(now time.Time) { server.Turn(now, func(netip.AddrPort, uint32, uint32) {}) })
	v.Connected(v.net.Now())
	v.node = d.client(v, seed)
	v.host = v.net.Add(kit.ClientAddr, v.node).Named("player")
	v.host.AfterTurn(v.node.turn)
	path.KeepOrder = d.order
	v.net.Route(host, v.host, v.net.NewLink(path))
	v.net.Route(v.host, host, v.net.NewLink(path))
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
	v.pump()
	if err := v.net.RunUntil(func() bool {
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
	for id, p := range world.All[arena.Player](sim.World()) {
		if wire := sim.Wire(id); wire != 0 {
			bodies[wire] = p.Body
		}
	}
	v.truth[sim.Tick()-1] = bodies
}

// pump calls the core when it asks for it.
func (v *viewer) pump() {
	now := v.net.Now()
	v.HandleTimeout(now)
	v.host.Poke()
	if v.warm {
		if f := v.Frame(now); f.OwnTick > 0 && f.OwnTick-math.Floor(f.OwnTick) < .05 {
			b := f.World().Body(f.Own())
			if b != nil {
				v.figures.atTicks = append(v.figures.atTicks, drawnBody{v.own, f.OwnTick, b.X, b.Y})
			}
		}
	}
	next, _ := v.NextTimeout()
	v.net.After(max(next.Sub(now), time.Millisecond), "own", v.pump)
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
	if v.asked {
		v.asked = false
		seen := 0
		if math.Abs(math.Remainder(float64(b.Angle-v.angle), 2*math.Pi)) > 1e-3 {
			seen = 1
		}
		v.figures.inputs = append(v.figures.inputs, seen)
	}
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

// steer has the player turn or stop, once a second or so.
func (v *viewer) steer() {
	v.angle, v.norm = float32(v.rand.Float64()*2*math.Pi), arena.PlayerSpeed
	if v.rand.IntN(6) == 0 {
		v.norm = 0
	}
	v.Steer(v.net.Now(), v.angle, v.norm)
	v.asked = v.warm
	v.host.Poke()
	v.net.After(time.Duration(200+v.rand.IntN(1600))*time.Millisecond, "steer", v.steer)
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

func TestPictureTry(t *testing.T) {
	_ = tcp.Cubic
	_ = message.Big
	_ = schema.Duplex
	_ = duplex.Main
	_ = duplexcore.Config{}
	_ = promise.Full
	_ = fmt.Sprint
	_ = chance.Race
	for _, d := range []string{"relay", "replica", "duplex"} {
		for _, loss := range []float64{0, .05} {
			const trip, jitter = 100 * time.Millisecond, 20 * time.Millisecond
			v := newViewer(t, d, 1, simnet.Profile{Delay: trip/2 - jitter/2, Jitter: jitter, Loss: loss}, 8, picture.Config{})
			v.play(t, 10*time.Second, 60*time.Second)
			f := &v.figures
			ticks, frames, others := v.errors(f.atTicks), v.errors(f.atFrames), v.errors(f.others)
			t.Logf("%s loss %v: at ticks %d: mean %.4f p99 %.4f max %.3f; frames %d: mean %.4f p99 %.4f; others %d: mean %.4f p99 %.4f max %.3f; lead %.1f p99 %.1f; delay %.1f p99 %.1f; back %d; inputs seen late %d of %d; %+v",
				d, loss, len(ticks), meanOf(ticks), quantileOf(ticks, .99), quantileOf(ticks, 1), len(frames), meanOf(frames), quantileOf(frames, .99),
				len(others), meanOf(others), quantileOf(others, .99), quantileOf(others, 1), meanOf(f.leads), quantileOf(f.leads, .99), meanOf(f.delays), quantileOf(f.delays, .99), f.back, sumOf(f.inputs), len(f.inputs), f.stats)
		}
	}
}

func sumOf(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

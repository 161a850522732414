package gateway

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/protocol/duplex"
	"parley/protocol/realm"
	"parley/protocol/relay"
	"parley/protocol/replica"
	"parley/protocol/stamp"
	"parley/world"
)

// The load of BenchmarkTwoHundredPlayers.
const (
	benchEntities   = 1000
	benchPlayers    = 40 // of each dialect
	benchTickRate   = 20
	benchSpreadSide = 1024 // cells: the arena's own size
)

// drifter is an entity that nobody owns: it goes its way, and turns at the edge.
type drifter struct {
	world.Body `parley:"speed=2"`
	Health     int16
}

// benchGame has so many drifters, and a pawn a player.
func benchGame(drifters int) world.Game {
	g := pawnGame()
	step := g.Step
	g.Kinds = world.Kinds(pawn{}, drifter{})
	g.Step = func(w *world.World, in []world.Input) {
		for world.Count[drifter](w) < drifters {
			world.Spawn(w, drifter{Body: randomBody(w), Health: 100})
		}
		step(w, in)
		for i := range in {
			if in[i].Kind == world.Join {
				if id, p := world.Avatar[pawn](w, in[i].Player); p != nil {
					b := randomBody(w)
					w.Place(id, b.X, b.Y)
				}
			}
		}
		for _, p := range world.All[drifter](w) {
			if math.Abs(p.X) > benchSpreadSide/2 || math.Abs(p.Y) > benchSpreadSide/2 {
				p.Angle += math.Pi
			}
			w.Move(&p.Body)
		}
	}
	return g
}

func randomBody(w *world.World) world.Body {
	r := w.Random()
	at := func() float64 { return float64(r.IntN(benchSpreadSide)) - benchSpreadSide/2 }
	return world.Body{X: at(), Y: at(), Angle: float32(r.IntN(628)) / 100, Norm: 1}
}

// benchClients are clients in the same process, which steer twice a second and read all.
type benchClients struct {
	steer  []func(angle float32) error
	close  []func()
	failed atomic.Int64
	wg     sync.WaitGroup
}

func (c *benchClients) add(steer func(angle float32) error, read, stop func()) {
	if steer != nil {
		c.steer = append(c.steer, steer)
	}
	c.close = append(c.close, stop)
	c.wg.Go(read)
}

func steeringBytes(prefix []byte, angle float32, o world.Order) []byte {
	b := orderOf(o).AppendUint32(prefix, math.Float32bits(angle))
	return orderOf(o).AppendUint32(b, math.Float32bits(1))
}

func (c *benchClients) replica(b *testing.B, d *Replica) {
	p, err := replica.Dial(b.Context(), d.Addr().String(), replica.Config{})
	if err == nil {
		err = p.Link()
	}
	if err != nil {
		b.Fatal(err)
	}
	c.add(func(angle float32) error { return p.Send(replica.Ordered, "steer", steeringBytes(nil, angle, little)) },
		func() {
			for range p.Events() {
			}
		}, func() { p.Close(context.Background()) })
}

func (c *benchClients) stamp(b *testing.B, d *Stamp) {
	p, err := stamp.Dial(b.Context(), d.Addr().String(), stamp.Config{})
	if err != nil {
		b.Fatal(err)
	}
	c.add(nil, func() {
		for range p.Events() {
		}
	}, func() { p.Close(context.Background()) })
}

func (c *benchClients) relay(b *testing.B, d *Relay) {
	p, err := relay.Dial(b.Context(), d.Addr().String(), relay.Config{})
	if err != nil {
		b.Fatal(err)
	}
	steer := func(angle float32) error {
		return p.Send(relay.SemiOrdered, relay.ToServer, steeringBytes([]byte{relaySteer}, angle, big))
	}
	if err := steer(0); err != nil {
		b.Fatal(err)
	}
	c.add(steer, func() {
		for range p.Events() {
		}
	}, func() { p.Close(context.Background()) })
}

func (c *benchClients) duplex(b *testing.B, h *Hub, d *Duplex) {
	p, err := duplex.Dial(b.Context(), d.Addr().String(), duplex.Config{Schema: DuplexSchema(h.sim.Schema())})
	if err != nil {
		b.Fatal(err)
	}
	c.add(func(angle float32) error { return p.Update(p.Player(), steeringBytes(nil, angle, big)) },
		func() {
			for range p.Events() {
			}
		}, func() { p.Close(context.Background()) })
}

func (c *benchClients) realm(b *testing.B, h *Hub, d *Realm, i int) {
	schema, err := RealmSchema(h.sim.Schema())
	if err != nil {
		b.Fatal(err)
	}
	p, err := realm.Dial(b.Context(), d.Addr().String(), realm.ClientConfig{Config: realm.Config{Schema: schema}, Plain: true})
	if err != nil {
		b.Fatal(err)
	}
	var own atomic.Uint32
	name := fmt.Sprintf("bench-%d", i)
	c.add(func(angle float32) error {
		if own.Load() == 0 {
			return nil
		}
		return p.Update(realm.Entity{ID: uint16(own.Load()), Has: realm.HasSpeedAngle | realm.HasSpeedNorm, SpeedAngle: angle, SpeedNorm: 1})
	}, func() {
		for ev := range p.Events() {
			if ev.Kind == realm.EventMessage && ev.Message.Kind == realm.KindMetaAction && string(ev.Message.Name) == name {
				own.Store(uint32(ev.Message.ID))
			}
		}
	}, func() { p.Close(context.Background()) })
	if code, err := p.Login(b.Context(), name, ""); err != nil || code != realm.LoginOK {
		b.Fatal(code, err)
	}
}

// stopwatch is a dialect that times the ticks of a running hub, of which it is the first to
// publish and the last.
type stopwatch struct {
	bell
	times []time.Duration // of all publishing
	began *time.Time
	first bool
}

func (s *stopwatch) publish(h *Hub) {
	if s.first {
		*s.began = time.Now()
	} else {
		s.times = append(s.times, time.Since(*s.began))
		s.bell.publish(h)
	}
}

func percentile(list []time.Duration, p float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(float64(len(sorted))*p), len(sorted)-1)]
}

// machineLoad is what else the machine does, if it tells.
func machineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// processTime is the CPU time of this process, clients and all; 0 if the system does not tell.
func processTime() time.Duration {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func million(d time.Duration) float64 { return float64(d) / 1e6 }

// 1,000 entities and 200 players, 40 of each dialect (stamp's watch), at 20 ticks a second. The
// clients are in the same process and on the same cores, so what they cost is in the CPU and
// in the allocations, and not in a tick's own time but by getting in its way.
func BenchmarkTwoHundredPlayers(b *testing.B) {
	h, err := New(Config{Game: benchGame(benchEntities - 4*benchPlayers), World: world.Config{Seed: 7}, TickRate: benchTickRate})
	if err != nil {
		b.Fatal(err)
	}
	began := new(time.Time)
	h.Add(&stopwatch{began: began, first: true})
	clients := &benchClients{}
	onReplica, err := NewReplica(h, ReplicaConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	onStamp, err := NewStamp(h, StampConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	onRelay, err := NewRelay(h, RelayConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	onDuplex, err := NewDuplex(h, DuplexConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	onRealm, err := NewRealm(h, RealmConfig{Addr: "127.0.0.1:0", Server: realm.ServerConfig{Plain: true}})
	if err != nil {
		b.Fatal(err)
	}
	last := &stopwatch{began: began, bell: bell{rings: make(chan struct{}, 1)}}
	h.Add(last)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	for i := range benchPlayers {
		clients.replica(b, onReplica)
		clients.stamp(b, onStamp)
		clients.relay(b, onRelay)
		clients.duplex(b, h, onDuplex)
		clients.realm(b, h, onRealm, i)
	}
	for h.Stats().Players < 4*benchPlayers || h.Stats().Spectators < benchPlayers {
		<-last.rings
	}
	h.Do(func() { last.times = last.times[:0] })
	var whole, views []time.Duration
	before, cpu, start := h.Stats(), processTime(), time.Now()
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	turn := 0
	for b.Loop() { // a tick
		<-last.rings
		if turn++; turn%10 == 0 {
			for i, steer := range clients.steer {
				if steer(float32(turn+i)) != nil {
					clients.failed.Add(1)
				}
			}
		}
		whole = append(whole, h.Stats().LastTick)
	}
	runtime.ReadMemStats(&m1)
	after := h.Stats()
	b.ReportMetric(float64(processTime()-cpu)/float64(time.Since(start))*100, "cpu-%")
	h.Do(func() { views = slices.Clone(last.times) })
	n := float64(after.Ticks - before.Ticks)
	b.ReportMetric(million(percentile(whole, .5)), "tick-p50-ms")
	b.ReportMetric(million(percentile(whole, .99)), "tick-p99-ms")
	b.ReportMetric(million(percentile(views, .5)), "publish-p50-ms")
	b.ReportMetric(million(percentile(views, .99)), "publish-p99-ms")
	b.ReportMetric(float64(m1.Mallocs-m0.Mallocs)/n, "allocs/tick")
	b.ReportMetric(float64(after.LateTicks-before.LateTicks)/n*100, "late-%")
	b.Logf("load %s; %d clients could not steer; %d ticks", machineLoad(), clients.failed.Load(), after.Ticks-before.Ticks)
	for _, stop := range clients.close {
		clients.wg.Go(stop)
	}
	clients.wg.Wait()
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// benchDesk has players of the hub with no wire behind them: a tick's own cost.
func benchDesk(b *testing.B) (*Hub, func(tick int)) {
	h, err := New(Config{Game: benchGame(benchEntities - 5*benchPlayers), World: world.Config{Seed: 7}, TickRate: benchTickRate})
	if err != nil {
		b.Fatal(err)
	}
	d := &desk{}
	h.Add(d)
	var seats []*Seat
	for range 5 * benchPlayers {
		seats = append(seats, d.sit(""))
	}
	steer := func(tick int) { // twice a second
		for i, s := range seats {
			if (tick+i)%10 == 0 {
				d.inbox.put(request{seat: s, ask: askSteer, steer: world.Steering{Angle: float32(tick % 6), Norm: 1, HasAngle: true, HasNorm: true}})
			}
		}
	}
	for i := range 60 {
		if i > 0 {
			steer(i)
		}
		if err := h.Tick(); err != nil {
			b.Fatal(err)
		}
	}
	return h, steer
}

// A tick of 1,000 entities and 200 players without any wire: inputs, the step, and a view of
// each. The cpu metrics are the thread's own time.
func BenchmarkHubTick(b *testing.B) {
	h, steer := benchDesk(b)
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	times := make([]time.Duration, 0, 1<<20)
	tick := 0
	for b.Loop() {
		tick++
		steer(tick)
		begin := threadTime()
		if err := h.Tick(); err != nil {
			b.Fatal(err)
		}
		times = append(times, threadTime()-begin)
	}
	b.ReportMetric(million(percentile(times, .5)), "cpu-p50-ms")
	b.ReportMetric(million(percentile(times, .99)), "cpu-p99-ms")
}

// The views of 200 players on 1,000 entities, of which all move, read to their end.
func BenchmarkHubViews(b *testing.B) {
	h, steer := benchDesk(b)
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	times := make([]time.Duration, 0, 1<<20)
	tick, changes := 0, 0
	for b.Loop() {
		tick++
		steer(tick)
		h.take()
		if err := h.step(); err != nil {
			b.Fatal(err)
		}
		begin := threadTime()
		h.settle()
		for _, s := range h.seats["desk"] {
			for s.view.Next() != nil {
				changes++
				s.view.Take(1)
			}
		}
		times = append(times, threadTime()-begin)
	}
	b.ReportMetric(million(percentile(times, .5)), "cpu-p50-ms")
	b.ReportMetric(million(percentile(times, .99)), "cpu-p99-ms")
	b.ReportMetric(float64(changes)/float64(tick)/(5*benchPlayers), "changes/view")
}

// vessel moves on three axes.
type vessel struct {
	X, Y, Z float32
}

func vesselGame(n int) world.Game {
	return world.Game{Name: "vessels", Kinds: world.Kinds(vessel{}), Step: func(w *world.World, in []world.Input) {
		for world.Count[vessel](w) < n {
			world.Spawn(w, vessel{})
		}
		tick := float32(w.Tick())
		i := float32(0)
		for _, v := range world.All[vessel](w) {
			v.X, v.Y, v.Z = tick+i, tick-i, tick*.5+i
			i++
		}
	}}
}

// 100 clients of replica, 100 objects that move on three axes, 60 times a second: the bytes that
// an object costs a client in a tick, and the time of a tick with all its packets. Clients are
// in the same process, which reads and acknowledges them.
func BenchmarkReplicaHundredByHundred(b *testing.B) {
	const objects, viewers = 100, 100
	h, err := New(Config{Game: vesselGame(objects), TickRate: 60, Sight: -1})
	if err != nil {
		b.Fatal(err)
	}
	d, err := NewReplica(h, ReplicaConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	last := &stopwatch{began: new(time.Time), bell: bell{rings: make(chan struct{}, 1)}}
	h.Add(last)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	clients := &benchClients{}
	for range viewers {
		clients.replica(b, d)
	}
	for h.Stats().Players < viewers {
		<-last.rings
	}
	for range 120 { // all is linked and shown
		<-last.rings
	}
	var whole []time.Duration
	before, traffic, cpu, start := h.Stats(), d.Stats(), processTime(), time.Now()
	for b.Loop() {
		<-last.rings
		whole = append(whole, h.Stats().LastTick)
	}
	after, now := h.Stats(), d.Stats()
	b.ReportMetric(float64(processTime()-cpu)/float64(time.Since(start))*100, "cpu-%")
	n := float64(after.Ticks - before.Ticks)
	bytes := float64(now.Socket.OutBytes - traffic.Socket.OutBytes)
	b.ReportMetric(bytes/n/objects/viewers, "bytes/object-tick")
	b.ReportMetric(bytes/n*60*8/1e6/viewers, "Mbit/s/client")
	b.ReportMetric(million(percentile(whole, .5)), "tick-p50-ms")
	b.ReportMetric(million(percentile(whole, .99)), "tick-p99-ms")
	b.Logf("load %s; %d ticks", machineLoad(), after.Ticks-before.Ticks)
	for _, stop := range clients.close {
		clients.wg.Go(stop)
	}
	clients.wg.Wait()
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

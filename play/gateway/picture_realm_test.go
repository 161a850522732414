package gateway

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/kit"
	"parley/internal/kit/chance"
	"parley/internal/kit/tcp"
	"parley/internal/pace"
	"parley/internal/promise"
	"parley/play/picture"
	"parley/play/schema"
	"parley/protocol/realm"
	realmcore "parley/protocol/realm/core"
	"parley/simnet"
	"parley/world"
)

// viewRealmServer is the realm dialect without sockets, which does what players ask for.
type viewRealmServer struct {
	*slowRealmServer
	refused func(tick uint64)
}

// viewRealm is realm, whose stream is TCP's.
var viewRealm = viewDialect{newViewRealm, newRealmViewer, true, 20}

func newViewRealm(now time.Time, _ uint64, h *Hub) aimCore {
	d, config, err := newRealm(h, RealmConfig{})
	if err != nil {
		panic(err)
	}
	s := &slowRealmServer{realmcore.NewMux(now, config.Config, &realmcore.Shared{}), newSlowLines(now), h, d}
	d.loop, d.mux = func(fn func()) error { fn(); return nil }, s.Mux
	h.Add(d)
	s.SetHooks(realmcore.Hooks{
		Pace: func(now time.Time, c *realm.Conn) (budget, unacked int, probe bool) {
			p := s.lines[c.Peer()].pace(now, 0)
			return p.Budget, p.Unacked, p.Probe
		},
		Estimate: func(c *realm.Conn) pace.Estimate { return s.Path(c.Peer()) },
	})
	return &viewRealmServer{s, nil}
}

func (s *viewRealmServer) Turn(now time.Time, _ func(from netip.AddrPort, step, line uint32)) {
	s.Advance(now)
	for c, ev, ok := s.PollEvent(); ok; c, ev, ok = s.PollEvent() {
		if ev.Kind == realm.EventRefused && s.refused != nil {
			s.refused(ev.Tick)
		}
		s.d.handle(c, ev)
	}
}

// refusal is a steer that came too late.
type refusal struct{ made, came uint64 }

// realmViewer is a client of realm with a picture, whose clock was set by the time server.
type realmViewer struct {
	*slowRealmClient
	v      *viewer
	reader *picture.Realm
}

func newRealmViewer(v *viewer, _ uint64) viewerNode {
	now := v.net.Now()
	config := realmcore.Config{Schema: schema.Realm(v.hub.Schema(), 0), TickRate: 20}
	e := realmcore.NewClient(now, kit.ServerAddr, config, &realmcore.Shared{})
	sight := newSlowSight()
	c := &realmViewer{&slowRealmClient{e, sight, tcp.NewPipe(kit.ServerAddr, tcp.Cubic), strconv.Itoa(1), 0, map[uint16]int{}, nil, now}, v, nil}
	send := func(m *realmcore.Message) error { return e.Send(v.net.Now(), m) }
	c.reader = must(picture.NewRealm(v.Core, picture.RealmConfig{Name: c.name}, picture.RealmSend{
		Update: func(b realmcore.Entity) error {
			return send(&realmcore.Message{Kind: realmcore.KindEntityUpdate, Entity: b})
		},
		Act: func(a realmcore.Action) error {
			return send(&realmcore.Message{Kind: realmcore.KindActionDo, Action: a})
		},
		Say: func(string) error { return nil },
		Want: func(chunks ...realmcore.ChunkID) error {
			return send(&realmcore.Message{Kind: realmcore.KindTerrainRequest, Wanted: must(realmcore.MakeWanted(chunks...))})
		},
		Temporary: e.Temporary,
		Tick:      func() (uint64, float64) { return e.ServerTickPart(v.net.Now()) },
		Codec:     e.Codec(),
	}))
	return c
}

func (c *realmViewer) turn(now time.Time) {
	c.now = now
	c.HandleBytes(now, c.pipe.Read())
	for ev, ok := c.PollEvent(); ok; ev, ok = c.PollEvent() {
		switch ev.Kind {
		case realm.EventClosed:
			panic(ev.Close.Error())
		case realmcore.EventOpened:
			must(0, c.Login(now, c.name, ""))
		case realmcore.EventLoggedIn:
			c.v.Entered() // as package client does when the player is back
			c.ask()
		default:
			c.reader.Read(now, ev)
		}
	}
}

// ask has the time server's answers come, as far away as the path is.
func (c *realmViewer) ask() {
	for i := range 8 {
		c.v.net.After(time.Duration(i)*100*time.Millisecond, "question", func() {
			asked := c.v.net.Now()
			q := c.Clock().AppendQuestion(asked, realmcore.Version10, nil)
			there, back := c.way(), c.way()
			at := c.v.unix(asked.Add(there))
			c.v.net.After(there+back, "answer", func() {
				c.Clock().HandleAnswer(c.v.net.Now(), binary.BigEndian.AppendUint64(q, at))
			})
		})
	}
}

// way is how long a datagram takes.
func (c *realmViewer) way() time.Duration {
	return c.v.path.Delay + time.Duration(c.v.rand.Int64N(int64(c.v.path.Jitter)+1))
}

// Over realm the own body is where the server's is, also at walls, though positions on the wire are whole cells: the client says in which cell it is, and
// so knows where in it the server has the body. The truth is what the server has once the inputs of a tick are done, also those that it does late,
// by going back. A steer that a stalled stream brings later than the server goes back is not done: ticks from then until the client can know of it are
// counted apart. docs/client.md has the figures.
func TestThePictureOverRealm(t *testing.T) {
	if chance.Race {
		t.Skip("virtual time is one goroutine")
	}
	const jitter = 20 * time.Millisecond
	for _, trip := range []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond} {
		for _, loss := range []float64{0, .02, .05} {
			var f viewFigures
			var off viewSums
			var known []float64
			seeds := chance.Seeds(promise.Tier(1, 20, 200))
			for _, seed := range seeds {
				v := newViewer(t, "realm", seed, simnet.Profile{Delay: trip/2 - jitter/2, Jitter: jitter, Loss: loss}, 6, picture.Config{Name: "1"})
				v.play(t, 8*time.Second, 30*time.Second)
				v.warm = false
				must(0, v.net.Run(2*time.Second)) // for what is done late
				f.add(v, &off)
				known = append(known, v.errors(slices.DeleteFunc(v.figures.atTicks, func(d drawnBody) bool { return v.stalled(uint64(d.tick), trip) }))...)
			}
			row := fmt.Sprintf("%v, loss %g%%, seeds=%v", trip, 100*loss, seeds)
			large, late := float64(f.stats.Large)/f.seconds*60, 1-float64(len(known))/float64(len(off.ticks))
			p99, known99 := quantileOf(off.ticks, .99), quantileOf(known, .99)
			t.Logf("| %d ms | %g%% | %.4f, %.4f, %.4f | %.2f%% | %.4f | %.2f | %.2f | %d of %d steers |", trip.Milliseconds(), 100*loss, quantileOf(off.ticks, .5), quantileOf(off.ticks, .95), p99,
				100*late, known99, large, float64(f.stats.Snapped)/f.seconds*60, f.unseen, f.inputs)
			if len(off.ticks) < 400*len(seeds) || known99 > 1 || len(seeds) >= 20 && p99 > 1 {
				t.Errorf("%s: the own body is %.2f cells off in one of 100 of %d ticks, and %.2f if none is late", row, p99, len(off.ticks), known99)
			}
			if large > 1 && (f.stats.Large > 1 || len(seeds) >= 20) {
				t.Errorf("%s: %.2f corrections by more than half a cell a minute", row, large)
			}
			if late > .02 && len(seeds) >= 20 { // a stall of some seconds is a tenth of one run
				t.Errorf("%s: the stream stalls in %.2f%% of ticks", row, 100*late)
			}
			if f.unseen > 0 || f.inputs < 10*len(seeds) {
				t.Errorf("%s: the next frame does not show %d of %d steers", row, f.unseen, f.inputs)
			}
		}
	}
}

// stalled reports whether a steer for a tick, or for one before it, was refused as it came too late, and the client could not know that yet.
func (v *viewer) stalled(tick uint64, trip time.Duration) bool {
	for _, r := range v.refused {
		if tick >= r.made && tick <= r.came+uint64(trip/viewTick)+4 {
			return true
		}
	}
	return false
}

// A body that is killed lives again elsewhere: the own body is there as soon as that is told, and soon again where the server has it to the bit.
func TestABodyThatLivesAgainOverRealm(t *testing.T) {
	if chance.Race {
		t.Skip("virtual time is one goroutine")
	}
	const trip = 100 * time.Millisecond
	v := newViewer(t, "realm", chance.Seed(t, 1), simnet.Profile{Delay: trip/2 - 10*time.Millisecond, Jitter: 20 * time.Millisecond}, 6, picture.Config{Name: "1"})
	sim := v.hub.Sim()
	throw := sim.Schema().ActionNamed("throw")
	var aim func()
	aim = func() {
		own := v.truth[sim.Tick()-1][v.own]
		for _, p := range v.walkers {
			if _, b := world.Avatar[arena.Player](sim.World(), p); b != nil {
				angle := world.Heading(b.X, b.Y, own.X, own.Y)
				sim.Act(p, sim.Tick(), throw, []world.Value{world.FloatValue(world.F32, float64(angle)), world.UintValue(world.Entity, world.TempEntity)}, 0)
			}
		}
		v.net.After(viewTick, "aim", aim)
	}
	aim()
	v.play(t, 8*time.Second, 60*time.Second)
	v.warm = false
	must(0, v.net.Run(2*time.Second))
	var lives []uint64
	for tick := range v.truth {
		if was, is := v.truth[tick-1][v.own], v.truth[tick][v.own]; v.truth[tick-1] != nil && math.Hypot(was.X-is.X, was.Y-is.Y) > 10 {
			lives = append(lives, tick)
		}
	}
	// A tick and the trip, and what it is told with.
	const told, sure = uint64(trip/viewTick) + 3, 20
	var soon, later []float64
	for _, d := range v.figures.atTicks {
		since := uint64(math.MaxUint64)
		for _, at := range lives {
			if uint64(d.tick)+1 >= at {
				since = min(since, uint64(d.tick)+1-at)
			}
		}
		if since > told {
			soon = append(soon, v.errors([]drawnBody{d})...)
		}
		if since > sure {
			later = append(later, v.errors([]drawnBody{d})...)
		}
	}
	t.Logf("%d lives; p95 %.2f of %d ticks soon after, p90 %.4f of %d ticks a second after", len(lives), quantileOf(soon, .95), len(soon), quantileOf(later, .9), len(later))
	if len(lives) < 5 || len(later) < 100 || quantileOf(soon, .95) > 1.5 || quantileOf(later, .9) > .05 {
		t.Errorf("%d lives; p95 %.2f of %d ticks soon after, p90 %.4f of %d ticks a second after", len(lives), quantileOf(soon, .95), len(soon), quantileOf(later, .9), len(later))
	}
}

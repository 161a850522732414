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
)

// viewRealmServer is the realm dialect without sockets, which does what players ask for.
type viewRealmServer struct{ *slowRealmServer }

// viewRealm is realm, whose stream is TCP's.
var viewRealm = viewDialect{newViewRealm, newRealmViewer, true, 10}

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
	return viewRealmServer{s}
}

func (s viewRealmServer) Turn(now time.Time, _ func(from netip.AddrPort, step, line uint32)) {
	s.Advance(now)
	for c, ev, ok := s.PollEvent(); ok; c, ev, ok = s.PollEvent() {
		s.d.handle(c, ev)
	}
}

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
		Say:       func(string) error { return nil },
		Temporary: e.Temporary,
		Tick:      func() uint64 { return e.ServerTick(v.net.Now()) },
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

// Over realm the own body is where the server's is, to the cell, while it walks or stands freely: the truth is what the server has once the inputs of
// a tick are done, also those that it does late, by going back. A body that pushes against a wall may slip past it here, as half a cell decides
// whether it is stopped: then it is as far off as it walks until it is corrected. docs/client.md has the figures.
func TestThePictureOverRealm(t *testing.T) {
	if chance.Race {
		t.Skip("virtual time is one goroutine")
	}
	const jitter = 20 * time.Millisecond
	for _, trip := range []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond} {
		for _, loss := range []float64{0, .02, .05} {
			var f viewFigures
			var off viewSums
			var free []float64
			seeds := chance.Seeds(promise.Tier(1, 4, 20))
			for _, seed := range seeds {
				v := newViewer(t, "realm", seed, simnet.Profile{Delay: trip/2 - jitter/2, Jitter: jitter, Loss: loss}, 6, picture.Config{Name: "1"})
				v.play(t, 8*time.Second, 30*time.Second)
				f.add(v, &off)
				free = append(free, v.errors(slices.DeleteFunc(v.figures.atTicks, func(d drawnBody) bool { return v.pushed(uint64(d.tick)) }))...)
			}
			large := float64(f.stats.Large) / f.seconds * 60
			row := fmt.Sprintf("%v, loss %g%%, seeds=%v", trip, 100*loss, seeds)
			t.Logf("| %d ms | %g%% | %.2f, %.2f, %.2f | %.0f%% | %.2f, %.2f | %.0f | %.1f |", trip.Milliseconds(), 100*loss, quantileOf(free, .5), quantileOf(free, .95), quantileOf(free, .99),
				100*float64(len(free))/float64(len(off.ticks)), quantileOf(off.ticks, .95), quantileOf(off.ticks, .99), large, float64(f.stats.Snapped)/f.seconds*60)
			if len(free) < 200*len(seeds) || quantileOf(free, .5) > .75 || quantileOf(free, .95) > 1 || large > 400 {
				t.Errorf("%s: a body that walks freely is %.2f cells off in half of %d ticks, and %.2f in one of twenty; %.0f large corrections a minute", row, quantileOf(free, .5), len(free), quantileOf(free, .95), large)
			}
			if 50*f.unseen > f.inputs || f.inputs < 10*len(seeds) {
				t.Errorf("%s: the next frame does not show %d of %d steers", row, f.unseen, f.inputs)
			}
		}
	}
}

// pushed reports whether a wall has stopped the own body in a tick or the second before it.
func (v *viewer) pushed(tick uint64) bool {
	for at := tick - 20; at <= tick+1; at++ {
		was, is := v.truth[at-1][v.own], v.truth[at][v.own]
		if is.Norm > 0 && math.Hypot(was.X-is.X, was.Y-is.Y) < .9*float64(is.Norm) {
			return true
		}
	}
	return false
}

package gateway

import (
	"encoding/binary"
	"io"
	"math"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/internal/pace"
	"parley/internal/patient"
	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/duplex"
	"parley/protocol/realm"
	"parley/protocol/realm/core"
	"parley/world"
)

// whirlers are how many entities turn in each tick in a slowGame.
const whirlers = 150

// slowGame has so many entities in sight of each player that turn in each tick, and so have to be told.
func slowGame() world.Game {
	g := benchGame(whirlers)
	step := g.Step
	g.Step = func(w *world.World, in []world.Input) {
		step(w, in)
		for _, p := range world.All[drifter](w) {
			p.Angle += 0.1
		}
	}
	return g
}

// narrowLink is a link to a server that carries so many bytes a second down, in parts of 10 ms. What waits for it waits at the
// server: it has a short buffer.
func narrowLink(t *testing.T, to string, rate int) (addr string) {
	l := must(net.Listen("tcp", loopback))
	var group sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	keep := func(c net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, c)
	}
	carry := func(near net.Conn) {
		far, err := net.Dial("tcp", to)
		if err != nil {
			near.Close()
			return
		}
		far.(*net.TCPConn).SetReadBuffer(4 << 10)
		near.(*net.TCPConn).SetWriteBuffer(4 << 10)
		keep(near)
		keep(far)
		group.Go(func() {
			io.Copy(far, near)
			far.Close()
		})
		group.Go(func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for buf := make([]byte, rate/100); ; <-tick.C {
				n, err := far.Read(buf)
				if _, failed := near.Write(buf[:n]); err != nil || failed != nil {
					near.Close()
					return
				}
			}
		})
	}
	group.Go(func() {
		for near, err := l.Accept(); err == nil; near, err = l.Accept() {
			carry(near)
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		patient.Done(group.Wait)
	})
	return l.Addr().String()
}

// slowPlayer is a player behind a narrow link, of either dialect.
type slowPlayer struct {
	steer func(angle float32) error
	say   func(text string) error
	path  func() (*path, pace.Estimate) // on the hub's goroutine

	mu     sync.Mutex
	in     bool
	angles map[float32]bool // its own, as it was told
	lines  int
	others int // updates of others
}

func (p *slowPlayer) is(cond func() bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cond()
}

func slowRealm(t *testing.T, h *Hub, rate int) (*slowPlayer, func(what string, cond func() bool)) {
	d := plainRealm(h, nil)
	until := live(t, h)
	p := &slowPlayer{angles: map[float32]bool{}}
	config := core.Config{Schema: schema.Realm(h.main.sim.Schema(), 0), TickRate: h.cfg.TickRate}
	c := must(realm.Dial(t.Context(), narrowLink(t, d.Addr().String(), rate), realm.Config{Config: config, Plain: true, NoTime: true}))
	var own uint16
	follow(t, c.Close, c.Events(), func(ev realm.Event) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if ev.Kind != realm.EventMessage {
			return
		}
		switch m := ev.Message; m.Kind {
		case core.KindMetaAction:
			if string(m.Name) == "ann" {
				own, p.in = m.ID, true
			}
		case core.KindChatReceive:
			p.lines++
		case core.KindEntitiesUpdate:
			for e := range m.Entities.All() {
				if e.ID != own {
					p.others++
				} else if e.Has&core.HasSpeedAngle != 0 {
					p.angles[e.SpeedAngle] = true
				}
			}
		}
	})
	if code := must(c.Login(t.Context(), "ann", "")); code != realm.LoginOK {
		t.Fatal(code)
	}
	p.say = c.Say
	p.steer = func(angle float32) error {
		return c.Update(core.Entity{ID: own, Has: core.HasSpeedAngle | core.HasSpeedNorm, SpeedAngle: angle, SpeedNorm: 1})
	}
	p.path = func() (*path, pace.Estimate) {
		for _, s := range h.main.side(d).seats {
			seat := s.own.(*realmSeat)
			return &seat.path, seat.conn.Path()
		}
		return nil, pace.Estimate{}
	}
	return p, until
}

func slowDuplex(t *testing.T, h *Hub, rate int) (*slowPlayer, func(what string, cond func() bool)) {
	d := must(NewDuplex(h, DuplexConfig{Addr: loopback}))
	until := live(t, h)
	p := &slowPlayer{angles: map[float32]bool{}}
	// Nobody answers at the feed of the link, so main carries everything.
	c := must(duplex.Dial(t.Context(), narrowLink(t, d.Addr().String(), rate), duplex.Config{Schema: schema.Duplex(h.main.sim.Schema()), FeedWait: time.Millisecond}))
	own := c.Player()
	follow(t, c.Close, c.Events(), func(ev duplex.Event) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case ev.Kind != duplex.EventSync:
		case ev.SID == message.DuplexSaid:
			p.lines++
		case ev.SID == own && len(ev.Data) > 21:
			p.in = true
			p.angles[math.Float32frombits(binary.BigEndian.Uint32(ev.Data[17:]))] = true
		default:
			p.others++
		}
	})
	p.say = func(text string) error {
		_, _, err := c.Query(t.Context(), duplex.Main, message.DuplexSay, append([]byte{0, uint8(len(text))}, text...))
		return err
	}
	p.steer = func(angle float32) error {
		b := binary.BigEndian.AppendUint32(nil, math.Float32bits(angle))
		return c.Update(own, binary.BigEndian.AppendUint32(b, math.Float32bits(1)))
	}
	p.path = func() (*path, pace.Estimate) {
		for _, s := range h.main.side(d).seats {
			seat := s.own.(*duplexSeat)
			return &seat.path, seat.conn.Path()
		}
		return nil, pace.Estimate{}
	}
	return p, until
}

// Behind a slow link a player sees each of its steps and reads each line, the others now and then, and little waits for the link.
// How late things are is for the bench: here they are counted.
func TestAPlayerBehindASlowLinkPlays(t *testing.T) {
	for _, tt := range []struct {
		name string
		rate int // bytes a second
		play func(*testing.T, *Hub, int) (*slowPlayer, func(string, func() bool))
	}{
		{"realm, 100 kbit/s", 12_500, slowRealm},
		{"realm, 400 kbit/s", 50_000, slowRealm},
		{"duplex, 100 kbit/s", 12_500, slowDuplex},
		{"duplex, 400 kbit/s", 50_000, slowDuplex},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := must(New(Config{Game: slowGame(), World: world.Config{Seed: 7}, TickRate: benchTickRate, Sight: -1}))
			p, until := tt.play(t, h, tt.rate)
			until("it is in", func() bool { return p.is(func() bool { return p.in }) })
			var waiting []int
			ticks := uint64(0)
			const steps, lines = 12, 3
			for i := range steps {
				for start := h.Stats().Ticks; h.Stats().Ticks < start+6; {
					if err := h.Do(func() {
						if at, _ := p.path(); at != nil && h.main.quiet() && h.main.sim.Tick() != ticks { // else a worker has its world
							ticks = h.main.sim.Tick()
							waiting = append(waiting, at.unacked)
						}
					}); err != nil {
						t.Fatal(err)
					}
					now := h.Stats().Ticks
					until("a tick", func() bool { return h.Stats().Ticks > now })
				}
				if err := p.steer(1 + float32(i)/8); err != nil {
					t.Fatal(err)
				}
				if i%(steps/lines) == 0 {
					if err := p.say("hello"); err != nil {
						t.Fatal(err)
					}
				}
			}
			// On a busy machine a step may be late, or come in one tick with the next: then there is none to see, and it is taken again.
			again, at := 0, h.Stats().Ticks
			until("it has seen all its steps and read all lines", func() bool {
				missing := float32(0)
				done := p.is(func() bool {
					for i := range steps {
						if angle := 1 + float32(i)/8; !p.angles[angle] {
							missing = angle
						}
					}
					return missing == 0 && p.lines == lines
				})
				if now := h.Stats().Ticks; missing != 0 && now >= at+40 {
					again, at = again+1, now
					if err := p.steer(missing); err != nil {
						t.Fatal(err)
					}
				}
				return done
			})
			if again > steps/2 {
				t.Errorf("%d of %d steps had to be taken again", again, steps)
			}
			var estimate pace.Estimate
			if err := h.Do(func() { _, estimate = p.path() }); err != nil {
				t.Fatal(err)
			}
			others := 0
			p.is(func() bool { others = p.others; return true })
			late := slices.Clone(waiting[len(waiting)/2:])
			slices.Sort(late)
			t.Logf("waiting, p50 %d and most %d bytes of the second half, most %d of all; %d updates of others; %+v",
				late[len(late)/2], late[len(late)-1], slices.Max(waiting), others, estimate)
			// Most of it was told before the link was known to be narrow. If all was told, more than twice that would wait.
			if most := slices.Max(waiting); most > 64<<10 {
				t.Errorf("%d bytes waited", most)
			}
			if others < whirlers {
				t.Errorf("%d updates of others", others)
			}
		})
	}
}

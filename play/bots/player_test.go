package bots_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley"
	"parley/arena"
	"parley/internal/patient"
	"parley/play/bots"
	"parley/test/field"
	"parley/world"
)

func TestMain(m *testing.M) {
	patient.Abreast("16") // tests that come back wait most of the time
	goleak.VerifyTestMain(m)
}

// serve serves the arena, with realm over TLS.
func serve(t *testing.T, change ...func(*parley.Config)) *field.Server {
	t.Helper()
	c := field.Config()
	c.DataDir, c.RealmPlain, c.Registrations = t.TempDir(), false, 0
	for _, f := range change {
		f(&c)
	}
	return field.Serve(t, arena.Game(), c)
}

// Over each dialect a player finds itself, sees what it asked for, and reads what it said.
func TestAPlayerOverEachDialect(t *testing.T) {
	s := serve(t)
	field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema}) // somebody to be seen
	sim, err := world.New(arena.Game(), world.Config{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	here := world.ChunkPlace{BX: -1, BY: 1}
	terrain := sim.Chunk(here.BX, here.BY)
	for _, dialect := range bots.Dialects {
		t.Run(dialect, func(t *testing.T) {
			p := field.Enter(t, dialect, s.At[dialect], bots.Config{Schema: s.Schema, Name: "ann", Password: "correct horse", Land: true})
			if dialect == "stamp" {
				if p.Steer(0, 1) != bots.ErrSpectator || p.Say(t.Context(), "x") != bots.ErrSpectator || p.Explore(t.Context(), here) != bots.ErrNoTerrain {
					t.Error("a spectator did something")
				}
				return
			}
			switch err := p.Explore(t.Context(), here); {
			case dialect == "relay":
				if err != bots.ErrNoTerrain {
					t.Errorf("terrain: %v", err)
				}
			case err != nil:
				t.Fatal(err)
			default:
				s.Within(t, "it is told the terrain", func() (told bool) {
					p.See(func(v *bots.Sight) { told = v.Land[here] != nil })
					return told
				})
				p.See(func(v *bots.Sight) {
					if *v.Land[here] != *terrain {
						t.Error("it is told another terrain")
					}
					if wall, known := v.Cell(-256, 511.5); !known || wall != terrain[255<<8] {
						t.Error("a cell is not where it should be")
					}
					if _, known := v.Cell(1e9, 0); known {
						t.Error("it knows what is beyond the world")
					}
				})
			}
			if err := p.Steer(1.25, 1); err != nil {
				t.Fatal(err)
			}
			s.Within(t, "it walks", func() (walks bool) {
				p.See(func(v *bots.Sight) { walks = v.Things[v.You].Angle == 1.25 && v.Things[v.You].Norm == 1 })
				return walks
			})
			if err := p.Say(t.Context(), "hello"); err != nil {
				t.Fatal(err)
			}
			throw := s.Schema.ActionNamed("throw")
			if err := p.Act(throw, world.FloatValue(world.F32, 1), world.UintValue(world.Entity, 0)); err != nil {
				t.Fatal(err)
			}
			s.Within(t, "it reads what it said and sees what it did", func() bool { return p.Heard("hello") && p.Acts() > 0 })
		})
	}
	if _, err := bots.Join(t.Context(), "morse", "127.0.0.1:1", bots.Config{}); err == nil {
		t.Error("there is a dialect morse")
	}
}

func TestACrowdOfBots(t *testing.T) {
	s := serve(t)
	play := func(span time.Duration) []bots.Result {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var joined sync.WaitGroup
		joined.Add(10)
		c := bots.Crowd{
			Addrs: s.At, Bots: map[string]int{"replica": 2, "stamp": 2, "relay": 2, "duplex": 2, "realm": 2},
			Config: bots.Config{Schema: s.Schema}, Seed: 1, Joined: joined.Done,
		}
		done := make(chan []bots.Result, 1)
		go func() { done <- c.Run(ctx) }()
		patient.Done(joined.Wait)
		defer time.AfterFunc(span, cancel).Stop()
		return patient.Value(done)
	}
	well := func(r bots.Result) bool {
		return r.Bots == 2 && r.Connected == 2 && r.Errors == 0 && r.Updates > 0 && (r.Dialect == "stamp" || r.Seen > 0 && r.P50 > 0)
	}
	// A busy machine has no time for them, or its server lets nobody in.
	for _, span := range []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, time.Minute} {
		results := play(span)
		t.Logf("%+v", results)
		if !slices.ContainsFunc(results, func(r bots.Result) bool { return !well(r) }) {
			return
		}
	}
	t.Error("not all bots see what they asked for")
}

// The latency that bots measure is that of the network and the server: on average half a tick until the next step, and no tick that an
// input waits because it was meant for a later one.
func TestBotsMeasureNoLead(t *testing.T) {
	t.Parallel()
	const tick = 250 * time.Millisecond
	s := serve(t, func(c *parley.Config) { c.TickRate = int(time.Second / tick) })
	for _, span := range []time.Duration{5 * time.Second, 20 * time.Second, time.Minute} { // a busy machine is late by itself
		ctx, cancel := context.WithTimeout(t.Context(), span)
		c := bots.Crowd{Addrs: s.At, Bots: map[string]int{"replica": 4, "relay": 4, "duplex": 4}, Config: bots.Config{Schema: s.Schema}, Seed: 1}
		results := c.Run(ctx)
		cancel()
		t.Logf("%+v", results)
		if !slices.ContainsFunc(results, func(r bots.Result) bool { return r.Seen < 4 || r.P50 >= tick }) {
			return
		}
	}
	t.Errorf("half of the latencies are longer than a tick of %v", tick)
}

// A bot that was never let in is an error when its time is over, and none when somebody stopped it.
func TestABotThatNeverGetsInIsAnError(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c := bots.Crowd{
		Addrs: map[string]string{"replica": silent.LocalAddr().String()}, Bots: map[string]int{"replica": 20}, // more than join at once
	}
	over, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := c.Run(over); got[0].Errors != 20 || got[0].Connected != 0 || got[0].Error == "" {
		t.Errorf("their time was over: %+v", got)
	}
	stopped, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if got := c.Run(stopped); got[0].Errors != 0 || got[0].Connected != 0 {
		t.Errorf("they were stopped: %+v", got)
	}
}

// Bots come back to a server that registers nobody any more: their accounts are there.
func TestBotsOfRealmComeBack(t *testing.T) {
	s := serve(t, func(c *parley.Config) { c.Registrations = 2 })
	for run := range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		var joined sync.WaitGroup
		joined.Add(2)
		c := bots.Crowd{Addrs: s.At, Bots: map[string]int{"realm": 2}, Config: bots.Config{Schema: s.Schema}, Seed: 1, Joined: joined.Done}
		go func() {
			patient.Done(joined.Wait)
			cancel()
		}()
		if got := c.Run(ctx); got[0].Errors != 0 || got[0].Connected != 2 {
			t.Errorf("run %d: %+v", run, got)
		}
	}
}

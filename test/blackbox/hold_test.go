package blackbox

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/play/bots"
	"parley/test/field"
	"parley/world"
)

// crowd are players of one dialect who turn 20 times a second and see that they did.
type crowd struct {
	t       testing.TB
	dialect string
	schema  *world.Schema
	l       *loaded
	players []*field.Visitor
	asked   atomic.Uint64 // times that somebody steered
	failed  atomic.Uint64 // times that somebody could not
	turn    atomic.Uint64
}

// join adds n players, some at a time. Those who are not let in are returned.
func (c *crowd) join(n int) (refused int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	room := make(chan struct{}, joinAtOnce)
	for range n {
		room <- struct{}{}
		mu.Lock()
		name := fmt.Sprintf("holder-%d", len(c.players)+refused+int(c.turn.Add(1)))
		mu.Unlock()
		wg.Go(func() {
			defer func() { patient.Value(room) }()
			p, err := field.Visit(c.t.Context(), c.dialect, c.l.addrs[c.dialect], bots.Config{
				Schema: c.schema, Plain: true, New: true, Name: name, Password: "a holder's own word",
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused++
				return
			}
			c.players = append(c.players, p)
		})
	}
	patient.Done(wg.Wait)
	return refused
}

// ended returns how many were cut off.
func (c *crowd) ended() (n uint64) {
	for _, p := range c.players {
		if p.Ended() != "" {
			n++
		}
	}
	return n
}

// told returns how often somebody was told of a change.
func (c *crowd) told() (n uint64) {
	for _, p := range c.players {
		p.See(func(v *bots.Sight) { n += v.Updates })
	}
	return n
}

// turnFor has all turn at 20 Hz, spread over the period, for so many periods.
func (c *crowd) turnFor(periods int) {
	const parts = 10
	clock := time.NewTicker(time.Second / 20 / parts)
	defer clock.Stop()
	for i := range periods * parts {
		<-clock.C
		for k := i % parts; k < len(c.players); k += parts {
			angle := float32(math.Mod(float64(i+k)/7, 6)) - 3
			if c.players[k].Steer(angle, 0) == nil {
				c.asked.Add(1)
			} else {
				c.failed.Add(1)
			}
		}
	}
}

func (c *crowd) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for _, p := range c.players {
		wg.Go(func() { p.Close(ctx) })
	}
	patient.Done(wg.Wait)
}

// T56: many clients of one dialect, 20 times a second, 64 bytes or so: all that was sent reliably
// arrives, nobody is cut off, and the server's memory does not grow. 200 clients in the gate, for 60 s in one dialect, each day another,
// and for 2 s in the others; with PARLEY_SOAK 2,000 for 10 minutes, or as long as PARLEY_HOLD says, and then the tick's p99, the garbage collector's and
// the growth of memory are held against their bars too, which on a machine that does other work
// say nothing. Clients share the cores, and the server goes before them, as far as the system lets it: they would have machines of
// their own. Passwords are what realm's clients cost to come, so it has fewer.
func TestHold(t *testing.T) {
	promise.Keeps(t, "T56", "blackbox", 1)
	prTier(t)
	soak := os.Getenv("PARLEY_SOAK") != ""
	if !soak { // which judges times and memory
		t.Parallel() // with others that mostly wait
	}
	length := 10 * time.Minute
	if text := os.Getenv("PARLEY_HOLD"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, dialect := range bots.Dialects {
		t.Run(dialect, func(t *testing.T) {
			n, periods := 200, 40
			today := dialect == bots.Dialects[time.Now().YearDay()%len(bots.Dialects)]
			if today {
				periods = 60 * 20
			}
			switch {
			case soak:
				n, periods = 2000, int(length/(time.Second/20))
			case dialect == "realm":
				n = 30
			}
			c := newCrowd(t, dialect, n, 0)
			defer c.close()
			c.l.say(loadCollect)
			mark := c.warmUp()
			asked, told := c.asked.Load(), c.told()
			c.turnFor(periods / 5)
			fifth := c.l.say(loadCollect)
			early := fifth.Resident
			c.turnFor(periods - periods/5)
			f := c.settle(c.asked.Load() - asked)
			f.Live = c.l.say(loadCollect).Live
			t.Logf("load %s; %d clients, %d asked, %d told; favoured %v, tick p50 %v p99 %v longest %v; %d MB resident, %d after a fifth of it, %d before; %d collections, p99 %v; %.1f allocations a tick; %d KB live, %d after a fifth", machineLoad(), n,
				c.asked.Load()-asked, c.told()-told, f.Favoured, f.P50, f.P99, f.Longest, f.Resident>>20, early>>20, mark.Resident>>20, f.GCs, f.GCPauseP99, float64(f.Mallocs)/float64(f.Ticks), f.Live>>10, fifth.Live>>10)
			// Who asks 20 times a second is dropped from by a server that stood still for three seconds, which is 60 late ticks.
			stood := !soak && f.Late >= 60
			if c.ended() > 0 || (f.DroppedInput > 0 || f.Skips > 0) && !stood {
				t.Errorf("%d were cut off, %d requests dropped, %d ticks let go", c.ended(), f.DroppedInput, f.Skips)
			}
			if reliable := dialect != "stamp" && dialect != "duplex"; reliable && f.Requests+f.DroppedInput != c.asked.Load()-asked {
				t.Errorf("%d requests arrived of %d", f.Requests, c.asked.Load()-asked)
			}
			if c.told() == told {
				t.Error("nobody was told of anything")
			}
			// A leak of 64 bytes a message is 12 MB in this time.
			if today && float64(f.Live) > 1.25*float64(fifth.Live)+2<<20 {
				t.Errorf("%d bytes of heap are live, %d after a fifth of the time", f.Live, fifth.Live)
			}
			if today && f.Mallocs > f.Ticks*uint64(n)/2 { // with one a message it is n in a tick
				t.Errorf("%d allocations in %d ticks of %d clients", f.Mallocs, f.Ticks, n)
			}
			if soak {
				c.bars(early, f, length)
			}
		})
	}
}

// newCrowd starts a server and has n players of a dialect join.
func newCrowd(t *testing.T, dialect string, n int, burn time.Duration) *crowd {
	config := loadConfig{Holders: true, Plain: true, Players: 4000, Sight: 16, Burn: burn, Favoured: true}
	c := &crowd{t: t, dialect: dialect, l: startLoaded(t, config), schema: field.Schema(t, config.game())}
	refused := c.join(n)
	for range 20 { // who is told to come again does so
		refused = c.join(refused)
	}
	if refused > 0 {
		t.Fatalf("%d of %d were not let in", refused, n)
	}
	for f, end := c.l.say(loadFigures), time.Now().Add(time.Minute); f.Players+f.Spectators < n; f = c.l.say(loadFigures) {
		if time.Sleep(10 * time.Millisecond); time.Now().After(end) {
			t.Fatalf("%d of %d are in", f.Players+f.Spectators, n)
		}
		c.join(c.forget())
	}
	return c
}

// forget lets go of players who connected and were then told to come again, and returns how many.
func (c *crowd) forget() int {
	before := len(c.players)
	c.players = slices.DeleteFunc(c.players, func(p *field.Visitor) bool { return p.Ended() != "" })
	return before - len(c.players)
}

// warmUp has all turn until tables have grown, waits until nothing is on its way, and marks.
func (c *crowd) warmUp() loadFigure {
	c.turnFor(20)
	c.rest(10, math.MaxUint64)
	return c.l.say(loadMark)
}

// settle waits until all that was asked has arrived, or does not any more, and returns the figures.
func (c *crowd) settle(asked uint64) loadFigure {
	c.rest(200, asked)
	return c.l.say(loadFigures)
}

// rest waits until so many requests have arrived, or no more have for so many looks.
func (c *crowd) rest(looks int, requests uint64) {
	f := c.l.say(loadFigures)
	for still := 0; still < looks && f.Requests < requests; still++ {
		time.Sleep(50 * time.Millisecond)
		if now := c.l.say(loadFigures); now.Requests > f.Requests {
			still, f = 0, now
		}
	}
}

// bars are those of T56. Memory counts from when a fifth of the time was over, and the heap has its size.
func (c *crowd) bars(early uint64, f loadFigure, length time.Duration) {
	c.t.Helper()
	if f.P99 > 25*time.Millisecond {
		c.t.Errorf("tick p99 %v is more than half of its period", f.P99)
	}
	if f.GCPauseP99 > time.Millisecond || f.GCs < 50 { // a collection has two pauses: of less than a hundred the p99 is the longest
		c.t.Errorf("pauses of the garbage collector: p99 %v in %d collections", f.GCPauseP99, f.GCs)
	}
	if grown := float64(f.Resident) / float64(early); grown > 1.01 && length >= 10*time.Minute {
		c.t.Errorf("memory grew by %.1f%%", (grown-1)*100)
	}
}

// T57: three times the clients come to a server that holds some, which is more than it can do: its ticks
// take longer than their period. Those who are in are served on and nothing that they sent is lost; who
// comes when it cannot keep up is not let in; and when the others have gone it is as before within 10 s.
// In the gate the game itself takes its time, and a hundred players are half of what it can do; with
// PARLEY_SOAK it is the 2,000 clients that do, and what it takes is held against its bars.
func TestThreeTimesTheLoad(t *testing.T) {
	promise.Keeps(t, "T57", "blackbox", 1)
	prTier(t)
	n, periods, burn := 100, 40, 9*time.Millisecond
	soak := os.Getenv("PARLEY_SOAK") != ""
	if soak {
		n, periods, burn = 2000, 60*20/4, 0
	}
	c := newCrowd(t, "replica", n, burn)
	defer c.close()
	c.warmUp()
	c.turnFor(periods)
	before := c.l.say(loadFigures)

	others := &crowd{t: t, dialect: c.dialect, l: c.l, schema: c.schema}
	refused := others.join(2 * n)
	// Who has come is in, or was turned away, before anything is counted: replica connects first, and the hub says later.
	for f, begin := c.l.say(loadFigures), time.Now(); f.Players+int(others.ended()) < n+len(others.players); f = c.l.say(loadFigures) {
		if time.Sleep(20 * time.Millisecond); time.Since(begin) > time.Minute {
			t.Fatalf("%d are in the game, %d were turned away, of %d who came", f.Players, others.ended(), n+len(others.players))
		}
	}
	shut := others.ended()
	// Who was shed already counts: on a slow machine that may be all, as the others come for longer, and it keeps up with the rest.
	shed := c.l.say(loadFigures).Shed - before.Shed
	c.l.say(loadMark)
	var wg sync.WaitGroup
	mine, theirs := c.asked.Load(), others.asked.Load()
	wg.Go(func() { others.turnFor(4 * periods) })
	late := &crowd{t: t, dialect: c.dialect, l: c.l, schema: c.schema}
	wg.Go(func() { // ten a second
		clock := time.NewTicker(time.Second / 10)
		defer clock.Stop()
		for range 4 * periods / 2 {
			<-clock.C
			refused += late.join(1)
		}
	})
	c.turnFor(4 * periods)
	patient.Done(wg.Wait)
	asked := c.asked.Load() - mine + others.asked.Load() - theirs
	during := c.settle(asked)
	cutOff, turnedAway := c.ended()+others.ended()-shut, uint64(refused)+late.ended()+shut
	others.close()
	late.close()

	began := time.Now()
	for f := c.l.say(loadFigures); f.Players > n || f.Behind > time.Second/20; f = c.l.say(loadFigures) {
		time.Sleep(20 * time.Millisecond)
	}
	back := time.Since(began)
	c.l.say(loadMark)
	c.turnFor(periods)
	after := c.l.say(loadFigures)
	t.Logf("load %s; tick p50/p99 %v/%v with %d clients; %v/%v with %d, %v behind the clock, %d not let in (%d shed); %v/%v %v after they had gone", machineLoad(),
		before.P50, before.P99, n, during.P50, during.P99, during.Players, during.Behind, turnedAway, during.Shed, after.P50, after.P99, back)
	if cutOff > 0 || during.DroppedInput > 0 || during.Requests < asked {
		t.Errorf("%d were cut off, %d requests dropped, %d arrived of %d", cutOff, during.DroppedInput, during.Requests, asked)
	}
	if shed += during.Shed; !soak && (shed == 0 || turnedAway < shed) {
		t.Errorf("it was %v behind, and let in whoever came", during.Behind)
	}
	if soak {
		c.ratios(before, during, after, back)
	}
}

// ratios are the bars of T57, which on a machine that does other work say nothing; that a hub is as before within
// 10 s has a test in virtual time (gateway's TestWhoComesIsShedFirst).
func (c *crowd) ratios(before, during, after loadFigure, back time.Duration) {
	c.t.Helper()
	if back > 10*time.Second {
		c.t.Errorf("it was as before after %v", back)
	}
	if during.P50 > 3*before.P50 || during.P99 > 3*before.P99 || after.P50 > before.P50*3/2 || after.P99 > before.P99*3/2 {
		c.t.Errorf("ticks took p50 %v, then %v, and %v after; p99 %v, %v and %v", before.P50, during.P50, after.P50, before.P99, during.P99, after.P99)
	}
}

package gateway

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/patient"
	"parley/play/bots"
	"parley/protocol/duplex"
	"parley/world"
)

const loopback = "127.0.0.1:0"

// must returns what a constructor made.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// ends ends a hub, or what it writes to.
func ends(t *testing.T, end func(context.Context) error) {
	t.Helper()
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// newArena is a hub with the arena, whose ticks the test runs.
func newArena(t *testing.T, c Config) *Hub {
	t.Helper()
	c.Game, c.World, c.Sight = arena.Game(), world.Config{Seed: 7}, -1
	h := must(New(c))
	t.Cleanup(func() { h.Shutdown(context.Background()) })
	return h
}

// waitFor does something until a condition holds that other goroutines bring about.
func waitFor(t *testing.T, do func(), what string, holds func() bool) {
	t.Helper()
	for range 30_000 {
		if holds() {
			return
		}
		do()
		<-time.After(time.Millisecond)
	}
	t.Fatalf("%s: not within 30,000 turns", what)
}

// until runs ticks until cond holds, one a millisecond: what a client sends takes its time,
// however quick the ticks are.
func until(t *testing.T, h *Hub, what string, cond func() bool) {
	t.Helper()
	waitFor(t, func() { ticks(t, h, 1) }, what, cond)
}

// live runs a hub by the clock, for dialects whose clients count ticks by it, and returns how
// to wait for something.
func live(t *testing.T, h *Hub) (until func(what string, cond func() bool)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := patient.Value(ended); err != nil {
			t.Error(err)
		}
	})
	return func(what string, cond func() bool) {
		t.Helper()
		waitFor(t, func() {}, what, cond)
	}
}

// follow has take see what a client is told, until the test closes it.
func follow[E any](t *testing.T, stop func(context.Context) error, events iter.Seq[E], take func(E)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev := range events {
			take(ev)
		}
	}()
	t.Cleanup(func() {
		stop(context.Background())
		patient.Value(done)
	})
}

// guest is a player of any dialect, and what it was told.
type guest struct {
	*bots.Player // nil if it could not join
	mu           sync.Mutex
	joined       bool     // or could not
	said         []string // lines of chat
	end          string   // why it is out
}

// listener is a dialect that can be joined.
type listener interface {
	Name() string
	Addr() netip.AddrPort
}

// come has somebody come with a ticket or without. Only ticks let it in.
func come(t *testing.T, h *Hub, d listener, ticket []byte) *guest {
	t.Helper()
	g := &guest{}
	c := bots.Config{Schema: h.main.sim.Schema(), TickRate: h.cfg.TickRate, Name: "ann", Plain: true, Land: true, Ticket: ticket, Notice: g.notice}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	var joining sync.WaitGroup
	joining.Go(func() {
		p, err := bots.Join(ctx, d.Name(), d.Addr().String(), c)
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.Player, g.joined = p, true; err != nil {
			g.end = err.Error()
			if end := (duplex.Close{}); errors.As(err, &end) && end.Status != 0 { // for which there are words
				g.end = fmt.Sprintf("%s: status %d", g.end, end.Status)
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		if patient.Done(joining.Wait); g.Player != nil {
			g.Close(context.Background())
		}
	})
	return g
}

// join has somebody come, and runs ticks until it is in or out.
func join(t *testing.T, h *Hub, d listener, ticket []byte) *guest {
	t.Helper()
	g := come(t, h, d, ticket)
	until(t, h, d.Name()+": it is in or out", g.decided)
	return g
}

func (g *guest) notice(n bots.Notice) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch n.Kind {
	case bots.Said:
		g.said = append(g.said, n.Name+": "+n.Text)
	case bots.Ended:
		g.end = n.Text
	}
}

// told is what it read until its connection ended, "" while it is open.
func (g *guest) told() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end == "" || !g.joined {
		return ""
	}
	return strings.Join(append(g.said, g.end), ", ")
}

// in reports whether it is in the game.
func (g *guest) in() (in bool) {
	g.mu.Lock()
	p, end := g.Player, g.end
	g.mu.Unlock()
	if p != nil && end == "" {
		p.See(func(v *bots.Sight) { in = len(v.Things) > 0 })
	}
	return in
}

// decided reports whether it is in or out.
func (g *guest) decided() bool { return g.in() || g.told() != "" }

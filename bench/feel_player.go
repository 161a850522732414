package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/arena"
	"parley/play/bots"
	"parley/world"
)

// feelPlayersRole is all players of an arena.
func feelPlayersRole() map[string]deed {
	var all feelers
	return map[string]deed{
		"enter": func(with json.RawMessage) (any, error) {
			w, err := decode[feelWith](with)
			if err != nil {
				return nil, err
			}
			return nil, all.enter(w)
		},
		"play": func(with json.RawMessage) (any, error) {
			w, err := decode[feelWith](with)
			if err != nil {
				return nil, err
			}
			return all.play(w)
		},
	}
}

type feelers []*feeler

// feeler is a player of W5.
type feeler struct {
	player *bots.Player
	news   chan struct{} // something that it waits for may have come

	mu    sync.Mutex
	steps stepLog
	late  []time.Duration
	ended string
}

const (
	feelNorm = 1 // it goes in a circle of about 40 cells

	// feelJoining is how many enter at a time, and feelJoin how long all may take.
	feelJoining = 16
	feelJoin    = 80 * time.Second
)

// enter has all players enter the game.
func (all *feelers) enter(w feelWith) error {
	ctx, cancel := context.WithTimeout(context.Background(), feelJoin)
	defer cancel()
	sim, err := world.New(arena.GameAt(w.Rate), world.Config{})
	if err != nil {
		return err
	}
	failed := make([]error, w.Players)
	room := make(chan struct{}, feelJoining)
	var wg sync.WaitGroup
	for i := range w.Players {
		f := &feeler{news: make(chan struct{}, 1)}
		f.steps.first = float64(i)
		*all = append(*all, f)
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if err := f.enter(ctx, w, sim.Schema(), i); err != nil {
				failed[i] = fmt.Errorf("player %d: %w", i, err)
			}
		})
	}
	wg.Wait()
	return cmp.Or(failed...)
}

// enter returns when the player sees itself.
func (f *feeler) enter(ctx context.Context, w feelWith, schema *world.Schema, i int) (err error) {
	f.player, err = bots.Join(ctx, w.Dialect, w.Addr.String(), bots.Config{
		Schema: schema, TickRate: w.Rate, Name: fmt.Sprintf("player-%d", i), Password: "a word for a walk", New: true, Notice: f.notice,
	})
	if err != nil {
		return err
	}
	for {
		if _, ok := f.player.Own(); ok {
			return nil
		}
		select {
		case <-f.news:
		case <-ctx.Done():
			return fmt.Errorf("it is connected and does not see itself: %w", ctx.Err())
		}
	}
}

// play has all players ask for directions for a time, and waits until these are seen.
func (all feelers) play(w feelWith) (sum felt, err error) {
	began := time.Now().Add(w.Warm)
	failed := make([]error, len(all))
	var wg sync.WaitGroup
	for i, f := range all {
		wg.Go(func() {
			failed[i] = f.play(w, began.Add(w.Every*time.Duration(i)/time.Duration(len(all))), began.Add(w.For))
		})
	}
	wg.Wait()
	now := time.Now()
	for _, f := range all {
		f.player.See(func(v *bots.Sight) { sum.Sight += float64(len(v.Things)-1) / float64(len(all)) })
		f.mu.Lock()
		sum.Steps, sum.Seen = sum.Steps+len(f.steps.steps), sum.Seen+f.steps.seen
		sum.Times, sum.Late = append(sum.Times, f.steps.end(now)...), append(sum.Late, f.late...)
		f.mu.Unlock()
	}
	return sum, cmp.Or(failed...)
}

func (f *feeler) play(w feelWith, due, end time.Time) error {
	for k := 0; due.Before(end); k++ {
		time.Sleep(time.Until(due))
		now := time.Now()
		f.mu.Lock()
		f.late = append(f.late, now.Sub(due))
		angle := f.steps.ask(now)
		f.mu.Unlock()
		if err := f.player.Steer(angle, feelNorm); err != nil {
			return err
		}
		due = due.Add(w.Every + time.Duration(k*7%40)*time.Millisecond)
	}
	return f.settle(w.Patience)
}

// settle waits until all steps are seen, or long enough.
func (f *feeler) settle(patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		f.mu.Lock()
		waits, ended := f.steps.waits(), f.ended
		f.mu.Unlock()
		switch {
		case ended != "":
			return errors.New("the connection ended: " + ended)
		case !waits:
			return nil
		}
		select {
		case <-f.news:
		case <-timer.C:
			return nil
		}
	}
}

// notice looks at what the player is told.
func (f *feeler) notice(n bots.Notice) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case n.Kind == bots.Ended:
		f.ended = n.Text
	case n.Kind == bots.Updated && f.steps.waits():
		if own, ok := f.player.Own(); ok {
			f.steps.see(own.Angle, now)
		}
	case n.Kind == bots.Updated && len(f.steps.steps) > 0:
		return
	}
	select {
	case f.news <- struct{}{}:
	default:
	}
}

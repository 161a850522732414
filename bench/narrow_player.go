package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"parley/play/bots"
	"parley/world"
)

// playWith is what a player does: where, and for how long.
type playWith struct {
	narrowWith
	Addr  netip.AddrPort `json:"addr"`
	For   time.Duration  `json:"for"`
	Until time.Duration  `json:"until"` // when it asks for nothing more
	After time.Duration  `json:"after"` // from when on it looks how old things are
}

// played is what a player has seen.
type played struct {
	Steps     int             `json:"steps"` // changes of its direction that it asked for
	Seen      int             `json:"seen"`
	StepTimes []time.Duration `json:"step_times"` // from asking to seeing, or to the end if it was not seen
	Lines     int             `json:"lines"`
	Heard     int             `json:"heard"`
	LineTimes []time.Duration `json:"line_times"`

	// Glances are what it saw of walkers. A peer that is a program of its own says instead how old near and far ones were.
	Glances []glance        `json:"glances,omitempty"`
	Near    []time.Duration `json:"near,omitempty"`
	Far     []time.Duration `json:"far,omitempty"`
}

// glance is what a player sees at a time.
type glance struct {
	At     time.Time `json:"at"`
	X, Y   float64   // its own place
	Phases []int     `json:"phases"` // of the walkers' rounds; -1 for one that it knows nothing of
}

const (
	stepEvery   = 120 * time.Millisecond // so that a 99th percentile is not of one step
	stepNorm    = .1                     // it goes in a circle of about 3 cells
	lineEvery   = 700 * time.Millisecond
	glanceEvery = 93 * time.Millisecond // not in step with the ticks of the server
)

// hiker is the player's side of W6.
type hiker struct {
	schema *world.Schema
	player *bots.Player

	mu      sync.Mutex
	playing bool
	sum     played
	steps   stepLog
	lines   map[string]time.Time
	ended   string

	walkers map[uint16]int // by their numbers
}

// narrowPlayerRole is a player.
func narrowPlayerRole() map[string]deed {
	h := &hiker{lines: map[string]time.Time{}, walkers: map[uint16]int{}}
	return map[string]deed{
		"join": func(with json.RawMessage) (any, error) {
			w, err := decode[playWith](with)
			if err != nil {
				return nil, err
			}
			return nil, h.join(w)
		},
		"play": func(with json.RawMessage) (any, error) {
			w, err := decode[playWith](with)
			if err != nil {
				return nil, err
			}
			return h.play(w)
		},
	}
}

// joinPatience is how long a player may take to enter the game over the narrow link.
const joinPatience = 30 * time.Second

// join enters the game, and returns when the player sees itself, or, a spectator, anything.
func (h *hiker) join(w playWith) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), joinPatience)
	defer cancel()
	sim, err := world.New(narrowGame(&tickClock{}), world.Config{})
	if err != nil {
		return err
	}
	h.schema = sim.Schema()
	news := make(chan struct{}, 1)
	h.player, err = bots.Join(ctx, w.Dialect, w.Addr.String(), bots.Config{
		Schema: h.schema, TickRate: w.Rate, Name: "hiker", Password: "a word for a walk", New: true,
		Notice: func(n bots.Notice) {
			h.notice(n)
			select {
			case news <- struct{}{}:
			default:
			}
		},
	})
	if err != nil {
		return err
	}
	for !h.isIn() {
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("it is connected and sees nothing: %w", ctx.Err())
		}
	}
	return nil
}

func (h *hiker) isIn() (in bool) {
	if h.watches() {
		h.player.See(func(v *bots.Sight) { in = len(v.Things) > 0 })
		return in
	}
	_, in = h.player.Own()
	return in
}

// watches reports whether it is a spectator.
func (h *hiker) watches() bool { return h.player.Dialect == "stamp" }

// play asks for steps and speaks for a time, and looks about.
func (h *hiker) play(w playWith) (played, error) {
	h.mu.Lock()
	h.playing = true
	h.mu.Unlock()
	began := time.Now()
	nextStep, nextLine, nextGlance := began, began.Add(lineEvery/2), began.Add(w.After)
	for now := began; now.Sub(began) < w.For; now = time.Now() {
		asks := !h.watches() && now.Sub(began) < w.Until
		if asks && !now.Before(nextStep) {
			// Not in step with the ticks of the server.
			nextStep = now.Add(stepEvery + time.Duration(len(h.steps.steps)*7%40)*time.Millisecond)
			if err := h.step(now); err != nil {
				return h.sum, err
			}
		}
		if asks && !now.Before(nextLine) {
			nextLine = now.Add(lineEvery + time.Duration(len(h.steps.steps)*11%100)*time.Millisecond)
			h.say(now)
		}
		if !now.Before(nextGlance) {
			nextGlance = nextGlance.Add(glanceEvery)
			h.look(now)
		}
		next := nextGlance
		if asks && nextStep.Before(next) {
			next = nextStep
		}
		if asks && nextLine.Before(next) {
			next = nextLine
		}
		time.Sleep(time.Until(next))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != "" {
		return h.sum, fmt.Errorf("the connection ended: %s", h.ended)
	}
	now := time.Now()
	h.sum.Steps, h.sum.Seen, h.sum.StepTimes = len(h.steps.steps), h.steps.seen, h.steps.end(now)
	for _, at := range h.lines { // what was not heard counts with the time that it was waited for
		h.sum.LineTimes = append(h.sum.LineTimes, now.Sub(at))
	}
	return h.sum, nil
}

// step turns the player a bit.
func (h *hiker) step(now time.Time) error {
	h.mu.Lock()
	angle := h.steps.ask(now)
	h.mu.Unlock()
	return h.player.Steer(angle, stepNorm)
}

// say says a line. Some dialects wait for the answer of the server.
func (h *hiker) say(now time.Time) {
	h.mu.Lock()
	h.sum.Lines++
	text := fmt.Sprintf("line %d is as long as a line of chat is", h.sum.Lines)
	h.lines[text] = now
	h.mu.Unlock()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), joinPatience)
		defer cancel()
		_ = h.player.Say(ctx, text) // a line that was not sent is not heard
	}()
}

// notice looks at what the player is told.
func (h *hiker) notice(n bots.Notice) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case n.Kind == bots.Ended:
		h.ended = n.Text
	case !h.playing:
	case n.Kind == bots.Said:
		if at, ok := h.lines[strings.TrimSpace(n.Text)]; ok {
			delete(h.lines, n.Text)
			h.sum.Heard++
			h.sum.LineTimes = append(h.sum.LineTimes, now.Sub(at))
		}
	case n.Kind == bots.Updated && h.steps.waits():
		if own, ok := h.player.Own(); ok {
			h.steps.see(own.Angle, now)
		}
	}
}

// look notes what the player sees of all walkers.
func (h *hiker) look(now time.Time) {
	g := glance{At: now, Phases: make([]int, narrowWalkers)}
	for i := range g.Phases {
		g.Phases[i] = -1
	}
	walker := h.schema.Kinds[0].Number
	h.player.See(func(v *bots.Sight) {
		own := v.Things[v.You]
		g.X, g.Y = own.X, own.Y
		for id, t := range v.Things {
			if t.Kind != walker {
				continue
			}
			i, known := h.walkers[id]
			if !known || !isOnRound(i, t.X, t.Y) { // of a newcomer a coordinate may be still under way
				i = walkerAt(t.X, t.Y)
				h.walkers[id] = i
			}
			if h.player.Dialect == "realm" { // its clients move bodies by their speed, so a place is told seldom
				g.Phases[i] = phaseTowards(t.Angle)
			} else {
				g.Phases[i] = phaseAt(i, t.X, t.Y)
			}
		}
	})
	h.sum.Glances = append(h.sum.Glances, g)
}

package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"

	"parley/arena"
	"parley/world"
)

// steerEach is how often a player asks for a direction: once in so many ticks, twice a second at 20.
const steerEach = 10

// measureWorld measures a room of the arena without any wire.
func measureWorld(k kind) (w WorldCost, err error) {
	players := k.perRoom
	w.Room, w.Players = k.name, players
	rounds := max(100, 40_000/players)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r, err := newArenaRoom(players)
	if err != nil {
		return w, err
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	w.HeapBytes = float64(after.HeapAlloc) - float64(before.HeapAlloc)
	w.StepNS, w.InputNS = r.steps(rounds)

	sight := r.views(world.ViewConfig{Radius: k.sight, MaxPerKind: 256, BytesPerTick: -1, Reliable: true, SightOnly: true})
	w.SightNS, _ = r.read(sight, rounds)
	closeAll(sight)
	full := r.views(world.ViewConfig{Radius: k.sight, BytesPerTick: 4096, Reliable: true})
	w.ViewNS, w.Changes = r.read(full, rounds)
	closeAll(full)
	w.StateBytes = len(r.sim.AppendSnapshot(nil))
	return w, r.entries(&w, rounds)
}

// arenaRoom is a room whose players walk.
type arenaRoom struct {
	sim     *world.Sim
	players []world.PlayerID
	rand    *rand.Rand
}

func newArenaRoom(players int) (*arenaRoom, error) {
	s, err := world.New(arena.Game(), world.Config{Seed: 7})
	if err != nil {
		return nil, err
	}
	r := &arenaRoom{sim: s, rand: rand.New(rand.NewPCG(1, 2))}
	for range players {
		p, err := s.Join("player")
		if err != nil {
			return nil, err
		}
		r.players = append(r.players, p)
	}
	s.Advance()
	for range 100 {
		r.steer(steerEach)
		s.Advance()
	}
	return r, nil
}

// steer has one player in so many ask for a direction, and returns how many did.
func (r *arenaRoom) steer(each int) (n int) {
	for i, p := range r.players {
		if (uint64(i)+r.sim.Tick())%uint64(each) != 0 {
			continue
		}
		n++
		r.sim.Steer(p, r.sim.Tick(), world.Steering{Angle: r.rand.Float32() * 6, Norm: 1, HasAngle: true, HasNorm: true}, 0)
	}
	return n
}

// steps measures ticks without inputs and ticks in which all steer, by turns: where players walk is the same in both.
func (r *arenaRoom) steps(rounds int) (step, input float64) {
	for range rounds {
		for range steerEach - 2 { // as far between two inputs of a player as in a game
			r.sim.Advance()
		}
		step += timed(1, nil, r.sim.Advance)
		input += timed(1, nil, func() { r.steer(1); r.sim.Advance() })
	}
	return step / float64(rounds), max(0, input-step) / float64(rounds*len(r.players))
}

func (r *arenaRoom) views(c world.ViewConfig) (list []*world.View) {
	for _, p := range r.players {
		list = append(list, r.sim.NewView(p, c))
	}
	return list
}

func closeAll(list []*world.View) {
	for _, v := range list {
		v.Close()
	}
}

// read reads the views of some ticks, after some that do not count, and returns what one takes and how many changes it has.
func (r *arenaRoom) read(list []*world.View, rounds int) (each, changes float64) {
	n := 0
	tick := func() { r.steer(steerEach); r.sim.Advance() }
	tell := func() {
		for _, v := range list {
			v.Update()
			for c := v.Next(); c != nil; c = v.Next() {
				n++
				v.Take(14)
			}
		}
	}
	for range 20 {
		tick()
		tell()
	}
	n = 0
	all := timed(rounds, tick, tell)
	return all / float64(len(list)), float64(n) / float64(rounds*len(list))
}

// entries measures a log: making an entry, and reading it where another node runs the room.
func (r *arenaRoom) entries(w *WorldCost, rounds int) error {
	other, err := newArenaRoom(w.Players) // the same seed and the same steps, so the same state
	if err != nil {
		return err
	}
	leader, err := newArenaRoom(w.Players)
	if err != nil {
		return err
	}
	leader.sim.Keep(1, 1)
	step := 0.0
	bytes := 0
	var block []byte
	var failed error
	var read, seal float64
	for range rounds {
		leader.steer(steerEach)
		seal += timed(1, nil, func() { block = leader.sim.Seal(0, 0) })
		bytes += len(block)
		step += timed(1, nil, leader.sim.Advance)
		read += timed(1, nil, func() {
			e, err := other.sim.ReadEntry(block)
			if err == nil {
				err = other.sim.Apply(e)
			}
			if err != nil {
				failed = fmt.Errorf("an entry of %d players: %w", w.Players, err)
			}
		})
		if failed != nil {
			return failed
		}
	}
	n := float64(rounds)
	w.SealNS, w.ApplyNS, w.EntryBytes = seal/n, max(0, read-step)/n, bytes/rounds
	return nil
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"parley"
	"parley/arena"
	"parley/play/bots"
	"parley/world"
)

// roomDialect is the dialect of the runs.
const roomDialect = "replica"

// kind is a kind of room that is measured with a whole server.
type kind struct {
	name    string
	perRoom int // players
	few     int // of another run, with fewer players of this server
	here    int // of them, those of this server. The others walk too, as if they were players of other nodes
	rooms   int
	sight   float64 // cells; negative is all
}

var kinds = []kind{
	{"8", 8, 0, 8, 25, -1},
	{"100", 100, 0, 100, 4, 128},
	{"100, all in sight", 100, 0, 100, 2, -1},
	{"2,000", 2000, 10, 100, 1, 128},
}

// crowdedArena is the arena with so many more who walk, and turn as often as players are steered.
func crowdedArena(walkers int) world.Game {
	g := arena.Game()
	step := g.Step
	g.Step = func(w *world.World, in []world.Input) {
		if w.Tick() == 0 {
			at := func() float64 { return float64(w.Random().IntN(1024)) - 512 }
			for range walkers {
				world.Spawn(w, arena.Player{Body: world.Body{X: at(), Y: at(), Norm: 1, Sprite: arena.SpritePlayer}, Health: arena.MaxHealth})
			}
		}
		i := uint64(0)
		for id, p := range world.All[arena.Player](w) {
			if i++; w.Owner(id) == 0 && (i+w.Tick())%steerEach == 0 {
				p.Angle = float32(w.Random().IntN(600)) / 100
			}
		}
		step(w, in)
	}
	return g
}

// roomWith is what the server and the bots are told.
type roomWith struct {
	Addr, Dir            string
	Rooms, Here, Walkers int
	Sight                float64
	Players              int
}

func (w *roomWith) room(i int) string { return fmt.Sprintf("room-%d", i) }

// roomFigures are what a server says of itself.
type roomFigures struct {
	Narrow                     int // players whose path takes less than there is to say
	CPU                        time.Duration
	Resident                   int64
	Ticks, Late, Skipped       uint64
	Requests                   uint64
	Players                    int
	Out, OutBytes, In, InBytes uint64
}

const (
	roomJoins = 64  // at a time: each waits for a tick
	joinTries = 4   // of a bot whom nobody answers, as the machine has other things to do
	roomTries = 3   // until hardly a path looks narrow
	maxNarrow = .02 // the share of the players whose path does

	// A run is measured for so long, after a while in which it is not.
	roomFor  = 12 * time.Second
	roomWarm = 4 * time.Second
)

// measureRoom runs a server with bots. Where these were kept from their cores the server takes their paths for narrow, and tells them less:
// then it runs again, and the run with the fewest such paths counts.
func measureRoom(k kind) (best RunCost, err error) {
	if k.few > 0 {
		less := k
		less.here, less.few = k.few, 0
		c, err := measureRoom(less)
		if err != nil {
			return c, err
		}
		defer func() { best.Few, best.FewCPU = k.few, c.CPU*float64(c.Players) }()
	}
	for i := range roomTries {
		c, err := measureRoomOnce(k)
		if err != nil {
			return c, err
		}
		if i == 0 || c.Narrow < best.Narrow {
			best = c
		}
		if best.Narrow <= maxNarrow {
			break
		}
	}
	return best, nil
}

func measureRoomOnce(k kind) (c RunCost, err error) {
	w := roomWith{Rooms: k.rooms, Here: k.here, Walkers: k.perRoom - k.here, Sight: k.sight, Players: k.rooms * k.here}
	c = RunCost{Room: k.name, Rooms: k.rooms, Players: w.Players, PerRoom: k.perRoom}
	if w.Dir, err = os.MkdirTemp("", "scale"); err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(w.Dir)) }()
	server, err := start("server", w, &w.Addr)
	if err != nil {
		return c, err
	}
	defer server.stop()
	var empty, before, after roomFigures
	if err := server.ask([]byte("{}"), &empty); err != nil {
		return c, err
	}
	var joined int
	crowd, err := start("bots", w, &joined)
	if err != nil {
		return c, err
	}
	defer crowd.stop()
	time.Sleep(roomWarm)
	if err := server.ask([]byte("{}"), &before); err != nil {
		return c, err
	}
	time.Sleep(roomFor)
	if err := server.ask([]byte("{}"), &after); err != nil {
		return c, err
	}
	if err := crowd.ask([]byte("{}"), &c.Seen); err != nil {
		return c, err
	}
	if after.Players < w.Players*99/100 { // some may be cut off on a machine that is busy with other things
		return c, fmt.Errorf("%s: %d of %d players are there at the end", k.name, after.Players, w.Players)
	}
	c.Ticks = float64(after.Ticks-before.Ticks) / float64(k.rooms)
	n := c.Ticks * float64(after.Players)
	each := func(a, b uint64) float64 { return float64(b-a) / n }
	c.CPU = float64(after.CPU-before.CPU) / n
	c.Out, c.OutBytes = each(before.Out, after.Out), each(before.OutBytes, after.OutBytes)
	c.In, c.InBytes = each(before.In, after.In), each(before.InBytes, after.InBytes)
	c.Inputs = each(before.Requests, after.Requests)
	c.Memory = float64(after.Resident-empty.Resident) / float64(w.Players)
	c.Narrow = float64(max(before.Narrow, after.Narrow)) / float64(w.Players)
	c.Late, c.Skipped = after.Late-before.Late, after.Skipped-before.Skipped
	return c, nil
}

// roomServer is a server of the arena.
func roomServer(with json.RawMessage) (any, func() (any, error), error) {
	var w roomWith
	if err := json.Unmarshal(with, &w); err != nil {
		return nil, nil, err
	}
	s, err := parley.Start(crowdedArena(w.Walkers), parley.Config{
		Replica: "127.0.0.1:0", Stamp: parley.Off, Relay: parley.Off, Duplex: parley.Off, Realm: parley.Off, RealmTime: parley.Off,
		DataDir: w.Dir, Sight: w.Sight, MaxPlayers: w.Players + 1, MaxRooms: 2*w.Rooms + 8, PerAddress: -1,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range w.Rooms {
		if err := s.Open(parley.Room{Name: w.room(i)}); err != nil {
			return nil, nil, err
		}
	}
	ask := func() (any, error) {
		st := s.Stats()
		at := st.Replica.Socket
		return roomFigures{
			Narrow: st.World.Paths.Replica.Narrow,
			CPU:    processTime(), Resident: resident(), Ticks: st.World.Ticks, Late: st.World.LateTicks, Skipped: st.World.SkippedTicks, Requests: st.World.Requests,
			Players: st.World.Players, Out: at.OutDatagrams, OutBytes: at.OutBytes, In: at.InDatagrams, InBytes: at.InBytes,
		}, nil
	}
	return s.Addrs()[0].Addr.String(), ask, nil
}

// roomBots are the players.
func roomBots(with json.RawMessage) (any, func() (any, error), error) {
	var w roomWith
	if err := json.Unmarshal(with, &w); err != nil {
		return nil, nil, err
	}
	sim, err := world.New(arena.Game(), world.Config{})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), childPatience)
	defer cancel()
	all := make([]*bots.Player, w.Players)
	failed := make([]error, w.Players)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range roomJoins {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(w.Players); i = next.Add(1) - 1 {
				for try := 0; try < joinTries && all[i] == nil; try++ {
					all[i], failed[i] = bots.Join(ctx, roomDialect, w.Addr, bots.Config{
						Schema: sim.Schema(), Room: w.room(int(i) / w.Here), Name: fmt.Sprintf("player-%d", i),
					})
				}
			}
		})
	}
	wg.Wait()
	if err := cmp.Or(failed...); err != nil {
		return nil, nil, err
	}
	go walk(all, steerEach*time.Second/20)
	ask := func() (any, error) {
		seen := 0
		for _, p := range all {
			p.See(func(v *bots.Sight) { seen += len(v.Things) - 1 })
		}
		return float64(seen) / float64(len(all)), nil
	}
	return len(all), ask, nil
}

// walk has each player ask for a direction once in the time, one after the other, for as long as the process lives.
func walk(all []*bots.Player, every time.Duration) {
	r := rand.New(rand.NewPCG(3, 4))
	begin := time.Now()
	for n := 0; ; n++ {
		time.Sleep(time.Until(begin.Add(every * time.Duration(n) / time.Duration(len(all)))))
		_ = all[n%len(all)].Steer(r.Float32()*6, 1) // whoever is cut off is missed at the end
	}
}

package keep_test

import (
	"context"
	"fmt"
	"os"

	"parley/play/keep"
	"parley/world"
)

type boat struct{ world.Body }

var boats = world.Game{Name: "boats", Kinds: world.Kinds(boat{}), Step: func(w *world.World, in []world.Input) {
	for i := range in {
		if in[i].Kind == world.Join {
			w.Own(in[i].Player, world.SpawnFor(w, &in[i], boat{}))
		}
	}
}}

// A server keeps a room, ends, and another one goes on with it.
func Example() {
	dir, err := os.MkdirTemp("", "keep")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for range 2 {
		serve(context.Background(), dir)
	}
	// Output:
	// main begins at tick 0
	// main goes on at tick 3, with 1 player: for "open"
}

func serve(ctx context.Context, dir string) {
	shelf, err := keep.Open(keep.Config{Dir: dir, Mode: keep.Tick})
	if err != nil {
		panic(err)
	}
	defer shelf.Close(ctx)
	sim, err := world.New(boats, world.Config{})
	settings := []byte("open")
	for _, name := range shelf.Rooms() {
		sim, settings, err = shelf.Load(name, boats)
	}
	if err != nil {
		panic(err)
	}
	sim.Keep(0x5eed, sim.Epoch()+1)
	room, err := shelf.Room("main", sim, settings)
	if err != nil {
		panic(err)
	}
	if sim.Tick() > 0 {
		fmt.Printf("main goes on at tick %d, with %d player: for %q\n", sim.Tick(), sim.Players(), settings)
		return
	}
	fmt.Println("main begins at tick 0")
	sim.Join("ann")
	for range 3 {
		room.Append(sim.Tick(), sim.Seal(0, 0))
		sim.Advance()
		for room.Safe() < sim.Tick() {
			select {
			case <-shelf.Notify():
			case <-ctx.Done():
				return
			}
		}
		// Now players are told of the tick.
		if room.WantsSnapshot() {
			room.Snapshot(sim.Tick(), sim.AppendSnapshot(nil))
		}
	}
}

// Package world holds the state of a game and everything that follows from it:
// kinds of entities as plain structs, ticks, terrain, movement, rollback, what
// each player sees, and recordings. It is deterministic: no I/O, no clock, no
// goroutine, and the same inputs give the same state on every machine.
//
// # Usage: a game
//
// A game is structs and one function. Exported fields are replicated.
//
//	type Ship struct {
//		world.Body `parley:"speed=2"` // position, heading, speed, sprite
//		Health     int16
//	}
//
//	type Shot struct{ world.Body }
//
//	type Fire struct{ Angle float32 }
//
//	var game = world.Game{
//		Kinds:   world.Kinds(Ship{}, Shot{}),
//		Actions: world.Actions(Fire{}),
//		Step:    step,
//	}
//
//	func step(w *world.World, inputs []world.Input) {
//		for i := range inputs {
//			in := &inputs[i]
//			switch in.Kind {
//			case world.Join: // a new player gets an entity of its own
//				w.Own(in.Player, world.SpawnFor(w, in, Ship{Health: 100}))
//			case world.Steer: // checks it, and does it or refuses
//				w.Steer(in)
//			case world.Act:
//				if fire, ok := world.Read[Fire](in); ok {
//					_, ship := world.Avatar[Ship](w, in.Player)
//					world.SpawnFor(w, in, Shot{Body: world.Body{X: ship.X, Y: ship.Y, Angle: fire.Angle, Norm: 5}})
//					world.Done(w, in, fire) // everyone is told
//				}
//			}
//		}
//		w.MoveAll()
//		for id, shot := range world.All[Shot](w) {
//			for target := range w.Touching(&shot.Body) {
//				if ship := world.Get[Ship](w, target); ship != nil {
//					ship.Health--
//					w.Despawn(id)
//					break
//				}
//			}
//		}
//	}
//
// Package arena is a whole game of this kind.
//
// # Determinism
//
// The same inputs give the same state on every processor, if Step keeps to
// three things: it ranges over no map, reads no clock, and converts each product
// that it adds to something, as in float64(a*b) + c. Without the conversion the
// compiler may fuse the two where the processor has such an instruction, which
// rounds once in place of twice; inlining lets it do so across calls.
//
// # Usage: a gateway
//
// A Sim runs a game. A gateway submits what its clients do and, after each
// Advance, tells them what is new. One goroutine owns the Sim; between two
// Advances several may each read views of their own.
//
//	sim, err := world.New(game, world.Config{Seed: 7})
//	p, err := sim.Join("ann")                    // at a login
//	view := sim.NewView(p, world.ViewConfig{})
//	sim.Steer(p, sim.Tick(), world.Steering{Angle: 1, HasAngle: true}, 0)
//	sim.Act(p, tick, action, values, tag)        // tick: when the client did it
//
//	sim.Advance()                                // once a tick
//	for _, e := range sim.Events() { … }         // joined, left, done, refused, named
//	view.Update()
//	packet := view.Open()                        // a number, for Acked and Lost
//	for c := view.Next(); c != nil && fits(c); c = view.Next() {
//		for f := range world.Fields(c.Mask) {
//			b = c.Value(f).AppendTo(b, order)
//		}
//		view.Take(bytes)
//	}
//	view.Acked(packet)                           // or Lost: its values come again, at their newest
//
//	view.Close()                                 // when the client is gone
//	sim.Leave(p)
//
// A reliable dialect sets ViewConfig.Reliable and leaves out Open, Acked and
// Lost. One that keeps a copy of the world for all its clients sets SightOnly and
// reads Sim.Changes. A client that was refused something (InputRefused, or what
// Steer and Act return) is corrected by View.Refused. What an action created
// under a temporary number is told to its player by EntityNamed.
//
// # Life of an input
//
//	sim.go          Join, Leave, Steer, Act: is it in time and well-formed? then into history
//	history.go      a ring of ticks: the state before each, and its inputs, sorted
//	share.go        whether a late one is done then or now
//	sim_advance.go  Advance: back to the oldest late input, again to now, one tick more
//	input.go        what Step gets; World.Steer, Read, Done, Deny
//	move.go         MoveAll; body.go: outlines; terrain.go: chunks; grid.go: who is near
//	event.go        what became of it
//	publish.go      the new state against the last one that was told, field by field
//	book.go         the numbers that clients know entities by; reserve.go: some are wanted before
//	view_sight.go   Update: what a player sees of it, and how urgent that is
//	view_entries.go what its client knows of what is in sight
//	view_send.go    Next, Take, Acked, Lost: what its client has been told; view_flight.go: the packets on their way
//	record.go       the recording of all this; replay.go: run again, and compared
//
// Below them: schema.go and schema_number.go (structs to kinds), field.go (a field
// in a row), table.go (rows), entity.go (Spawn, Get, All), player.go, id.go, lookup.go,
// value.go, random.go, math.go, hash.go, limits.go.
//
// # Time and identity
//
// An input belongs to the tick at which its player did it. If that is past, by
// MaxRollbackTicks at most, the world goes back, applies it and runs all since
// again, and the state is the very one that it would have been. So Step must
// touch nothing but the World: what it keeps elsewhere is not rewound.
// An ID says who created an entity and when, so a replay creates the same ones;
// the numbers that clients are told are outside the state, and stay.
//
// # Keeping it deterministic
//
// In Step: no time, no goroutines, no maps that are ranged over, no package
// variables that change, no chance but World.Random, and Sin, Cos, Atan2 of this
// package, not of math. Where a processor can multiply and add at once, Go lets
// it, and the result differs: write float64(a*b) + c, and float32(a*b) + c. What
// becomes of a float that is too large for the integer that it is made differs
// as well.
// A recording that does not replay (Replay, "parley replay") finds what was
// missed, and names the tick, the entity and the field.
//
// # Cost
//
// A tick allocates nothing once tables have grown to their size, nor do views.
// docs/world.md has the figures. A player's view takes 100 to 170 bytes for each
// entity in its sight, a tick of history one copy of the entities.
//
// # Limits
//
// They are in limits.go, each with what it is for: 32,767 entities, 4,096
// players, 32 inputs of a player in a tick, 64 fields a kind, 255 bytes a record.
//
// # What it does not do
//
// It does not slide along walls: what hits one stops. It keeps no account of what
// a client may know of the terrain: a gateway sends chunks, and ChangedChunks
// says which are new. A place that a client claims is judged by distance, by time
// and by whether the straight way there is free: it finds no way around a wall.
//
// # Security
//
// Whatever a player submits, it can steer its own entity, at its speed, and do
// what the game does for its actions; it costs a bounded amount of memory and, with
// all others, at most Config.ReplayBudget more steps a tick on average. Gateways bound
// how often a client may ask; the world bounds what it costs.
package world

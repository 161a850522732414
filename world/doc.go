// Package world holds the state of a game: kinds of entities as plain structs, ticks, terrain, movement, rollback,
// each player's view, and the log of a room. It is deterministic. It has no I/O, no clock and no goroutine, and the same
// inputs give the same state on every machine.
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
//
//		// Sprite 0, which both kinds have, is a disc. A body without an outline touches nothing.
//		Hitboxes: []world.Hitbox{world.Circle(2)},
//	}
//
//	func step(w *world.World, inputs []world.Input) {
//		for i := range inputs {
//			in := &inputs[i]
//			switch in.Kind {
//			case world.Join: // a new player gets an entity of its own
//				w.Own(in.Player, world.SpawnFor(w, in, Ship{Health: 100}))
//			case world.Steer: // checks the request, and applies or refuses it
//				w.Steer(in)
//			case world.Act:
//				_, ship := world.Avatar[Ship](w, in.Player) // nil if the player has none at the moment
//				if fire, ok := world.Read[Fire](in); ok && ship != nil {
//					world.SpawnFor(w, in, Shot{Body: world.Body{X: ship.X, Y: ship.Y, Angle: fire.Angle, Norm: 5}})
//					world.Done(w, in, fire) // players who see the ship are told
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
// The same inputs give the same state on every processor, if Step obeys these rules. It uses no clock, no
// goroutines, no ranges over maps, and no package variables that change. It takes random numbers from
// World.Random only, and Sin, Cos and Atan2 from this package, not from math. It converts each product that it
// adds to something, as in float64(a*b) + c. Without the conversion, the compiler may fuse the two operations
// where the processor can multiply and add in one instruction. That rounds once instead of twice. Inlining lets
// the compiler do so across calls. Step converts no float to an integer type that is too small for it: the
// result differs between processors.
//
// If a rule was broken, a recording does not replay (Replay, "parley replay"): the report names the tick, the entity
// and the field.
//
// # Usage: a gateway
//
// A Sim runs a game. A gateway is the code between a dialect (one of parley's wire protocols) and a Sim: it
// submits its clients' inputs and, after each Advance, sends its clients the changes. One goroutine owns the
// Sim. Between two Advances, several goroutines may each read views of their own.
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
//	view.Acked(packet)                           // or Lost: the fields are sent again, with their newest values
//
//	view.Close()                                 // when the client is gone
//	sim.Leave(p)
//
// A reliable dialect sets ViewConfig.Reliable and leaves out Open, Acked and Lost. A dialect that keeps one copy of
// the world for all its clients sets SightOnly and reads Sim.Changes. View.Refused corrects a client after a
// refusal (the event InputRefused, or the result of Steer and Act). The event EntityNamed tells a player the true
// number of an entity that its action created under a temporary number.
//
// # Life of an input
//
//	sim.go          Join, Leave, Steer, Act: an input that is in time and well-formed goes into the history
//	history.go      a ring of ticks: the state before each, and its inputs, sorted
//	share.go        decides whether a late input is applied at its own tick or now
//	sim_advance.go  Advance: back to the oldest late input, forward to now, then one more tick
//	input.go        the inputs of Step; World.Steer, Read, Done, Deny; past.go: World.At, the bodies as a player saw them
//	move.go         MoveAll; body.go: outlines; terrain.go: chunks; grid.go: bodies by position
//	event.go        the outcome of an input
//	publish.go      compares the new state with the last published one, field by field
//	book.go         the numbers by which clients know entities; reserve.go: numbers that are given in advance
//	view_sight.go   Update: what a player sees, and how urgent each change is
//	view_rule.go    Game.Sees: what a player may see of that
//	view_entries.go what the client knows of each entity in sight
//	view_send.go    Next, Take, Acked, Lost: what the client was told; view_flight.go: packets in flight
//	log.go          the log's layout; log_entry.go: Keep, From, Seal; log_item.go: what is in an entry; roll.go: sessions and tickets
//	log_apply.go    ReadEntry, Apply: runs an entry that another made; log_read.go: files, torn tails and damage
//	snapshot.go     AppendSnapshot; snapshot_past.go: what World.At needs of it; snapshot_load.go: Load
//	rest.go         Rest: a room that goes to sleep lets memory go
//	guess.go        Guess: a world on a client, on which Step runs ahead of the server; guess_land.go: its terrain
//	record.go       the recording; replay.go: runs a recording or a log again and compares; replay_old.go: those of version 2
//
// Below these: schema.go, schema_layout.go, schema_type.go, schema_number.go and schema_quant.go (structs to kinds), field.go
// (a field in a row), quant.go (floats that are rounded, and travel as integers), table.go (rows), entity.go (Spawn, Get, All),
// player.go, id.go, lookup.go, value.go, reading.go (the bytes of files), random.go, math.go, hash.go, limits.go.
//
// # Time and identity
//
// An input belongs to the tick at which its player acted. If that tick is past, by at most MaxRollbackTicks, the
// world goes back, applies the input and runs forward again. The result is the state that a punctual input would
// have given. So Step must use nothing but the World: state that it keeps elsewhere is not rewound. An entity's ID
// is made of its creator and the tick of its creation, so a replay creates the same IDs. The numbers by which
// clients know entities are not part of the state, and a replay does not change them.
//
// # Cost
//
// Once all buffers have grown to the size that the game needs, neither ticks nor views allocate. docs/world.md has
// the figures. A player's view takes 100 to 170 bytes for each entity in sight. A tick of history takes one copy of
// the entities.
//
// # Limits
//
// They are in limits.go, each with its reason: 32,767 entities, 4,096 players, 32 inputs of a player in a tick, 64
// fields a kind, 255 bytes for an entity's replicated fields.
//
// # What it does not do
//
// A body does not slide along a wall: it stops. The world does not track what a client knows of the terrain: a
// gateway sends chunks, and ChangedChunks lists the new ones. A position that a client claims is checked by
// distance, by time, and by whether the straight line to it is free. The check does not look for a way around
// a wall.
//
// # Security
//
// Whatever a player submits, it can only steer its own entity (and others that Game.May allows), up to the entity's
// greatest speed, and do the actions that the game permits. A player costs a bounded amount of memory. All players
// together cost at most Config.ReplayBudget more steps a tick on average. Gateways bound how often a client may
// ask; the world bounds the cost of a request.
package world

// Package core decides what a node of a cluster does for one room: whether it makes the entries of the room's log or follows
// them, and what it asks of the store again. It is pure: messages and time go in, orders come out.
//
// The log decides. An append says which entry it follows, and the store refuses it if another came first. So two nodes that both
// believe to be the sequencer cannot both write, whatever their clocks say: the one that is refused reads what came instead, and follows.
//
// # Usage
//
//	r := core.NewRoom(now, core.Config{Node: node, Period: 50 * time.Millisecond, Rand: rand}, world)
//	r.Ask(now, body)                  // a player of this node wants something
//	r.HandleTold(now, seq, prev, b)   // an entry of the log, as the store tells all nodes
//	r.HandleTimeout(now)
//	for o, ok := r.Poll(); ok; o, ok = r.Poll() {
//		… // do what the order says, and hand in what became of it
//	}
//	next := r.NextTimeout()
//
// # Life of a request
//
//	requests.go  Ask gives it a number and keeps it; an Ask order takes it to the sequencer, again and again until the log has it
//	sequence.go  the sequencer takes the requests of each node in the order of their numbers, into the entry of the tick
//	sequence.go  an Append order offers the entry to the log; the tick is run, and told to players, when it is in
//	ahead.go     with Config.Batch, while no other node has a stage of the room, the tick is run at once, and a second's entries are one append
//	follow.go    every other stage runs the entry when it is told of it, and fetches what it was not told
//	requests.go  the entry has the request: it is not sent again
//
// # Life of a sequencer
//
//	bid.go       a stage that has heard nothing for two seconds, of a room that should have ticks, bids for the room's record
//	bid.go       it has won: its epoch is one more, and it makes the next entry from now
//	move.go      it gives its room to another node, or leaves it to whoever bids first: the record says so, and no silence is waited for
//	sequence.go  it is refused by the log, or the record says another: it loads the room anew and follows
//
// # Life of a divergence
//
//	diverge.go   a stage whose state is not the one that an entry was made for tells its players nothing more, and complains to the sequencer
//	diverge.go   the sequencer saves a snapshot, unless one is kept that is new enough
//	diverge.go   the stage says both states in a Differ order, and goes on from the sequencer's; the third time in a minute it stops
//
// # Limits
//
// limits.go has all. Requests that wait, entries ahead of a gap, what a node may have in a tick and what is run ahead of the log are bounded.
//
// # What it does not do
//
// It keeps nothing and sends nothing. It does not know what a request says, nor what an entry has but its head: World does. A store that
// forgets what it has acknowledged is not survived.
//
// With Config.Batch, a node that dies loses what it has run since the last append: up to two such times, if the store was slow. One that
// is deposed loses the same, loads the room anew, and asks again for what its players asked for: they may be told of it twice.
package core

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
//	follow.go    every other stage runs the entry when it is told of it, and fetches what it was not told
//	requests.go  the entry has the request: it is not sent again
//
// # Life of a sequencer
//
//	bid.go       a stage that has heard nothing for two seconds, of a room that should have ticks, bids for the room's record
//	bid.go       it has won: its epoch is one more, and it makes the next entry from now
//	sequence.go  it is refused by the log, or the record says another: it loads the room anew and follows
//
// # Limits
//
// limits.go has all. Requests that wait, entries ahead of a gap and what a node may have in a tick are bounded.
//
// # What it does not do
//
// It keeps nothing and sends nothing. It does not know what a request says, nor what an entry has but its head: World does. A store that
// forgets what it has acknowledged is not survived.
package core

// Package peers carries what participants of a room say to each other when they are at different nodes of a cluster: relay's packages between
// participants. It is pure: messages of other nodes and time go in, messages to them and packages come out.
//
//	l := peers.New(now, peers.Config{Node: id, Take: take, Ended: ended, Free: free, Missed: missed})
//	l.Local(now, 3)                       // so many participants are here
//	full := l.Send(now, from, mode, false, payload)
//	l.Handle(now, message)                // of another node
//	l.HandleTimeout(now)                  // when NextTimeout says so
//	for b, ok := l.PollTransmit(); ok; …  // to all other nodes
//
// # Life of a package
//
//	send.go  a participant's reliable packages have numbers, and are kept until each node has confirmed them that had participants when they came
//	wire.go  packages, confirmations and who has participants go together in messages to all nodes
//	recv.go  each is taken once: an unordered one at once, a semi-ordered one after all reliable ones before it. What is taken is confirmed
//
// A package that its receivers have no room for is not taken, so it is not confirmed, so in the end its sender has to wait, at its own node. Of a
// participant at most maxFlying packages are kept for all other nodes, and as many at each of them.
//
// A node that says nothing for silentNode is not waited for. If it was there all the same, it has missed packages: Config.Missed has it end the
// connections of its participants, as no reliable package may be missing.
//
// # Security
//
// Nodes trust each other. What comes is checked all the same: it cannot make a node keep more than limits.go says.
package peers

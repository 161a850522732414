// Package cluster lets several processes run the same rooms: the log of a room is a subject of a stream in NATS JetStream, and each node
// that has players of a room runs it. Package core decides; this package brings its orders to NATS and the answers back.
//
// # Usage
//
//	node, err := cluster.Start(cluster.Config{Name: "arena", Listen: "10.0.0.1:6222", Peers: []string{"10.0.0.2:6222", "10.0.0.3:6222"}, Dir: dir})
//	room := node.Open("main", cluster.RoomConfig{Period: 50 * time.Millisecond, World: world, Run: run})
//	run(func() { room.Ask(body) })
//	...
//	node.Close()
//
// A server of package parley uses all of this by itself: parley.Config{Cluster: parley.ClusterOf(node)}.
//
// # Life of an entry
//
//	room.go    the room's core orders an append; a goroutine publishes it, with the sequence that it must follow
//	store.go   the store takes it, or says that another came first
//	room.go    the store tells all nodes, by parley.told.<room>; the room's owner runs it
//
// # The rest of a cluster
//
//	entry.go      a ticket lets in once, and a token is found on any node
//	directory.go  the rooms there are; nodes hear of those that come and go
//	bans.go       a ban holds on all nodes
//	nodes.go      what nodes say of themselves, and which is the least loaded
//	peers.go      what relay's participants at different nodes say to each other
//	ask.go        a question to all nodes
//	status.go     what an operator sees: rooms, stages and how far they are behind
//
// Calls that write are tried until the store has answered, for at most 15 s: a leader of NATS is elected in 4 to 9 s. An error that is
// ErrUnavailable leaves open whether the thing is done. All may be called again.
//
// # What is where
//
//	parley-log-<0…7>     streams: the logs of rooms, parley.log.<0…7>.<room>: subjects of two streams may not overlap
//	parley-rooms         key-value: who sequences a room, and with which epoch
//	parley-nodes         key-value: the nodes that live, renewed each second, gone after 10 s
//	parley-directory     key-value: the rooms and their settings
//	parley-entry         key-value: tokens' hashes and tickets' serials, each for as long as it counts
//	parley-bans          key-value
//	parley-snapshots     objects: the newest two snapshots of each room
//	parley.now.<bucket>  what the buckets have stored, to all nodes
//	parley.room.<room>   requests of players of other nodes, to the sequencer
//	parley.here.<room>   what each node says of its players once a second
//	parley.peers.<room>  what relay's participants say to each other: package peers
//	parley.ask.<topic>   questions to all nodes
//
// A name of a room, a topic or a ban is one token of a subject, whatever bytes it has (names.go). Two clusters need two NATS, or two accounts of
// one: the second is refused.
//
// # Limits
//
// limits.go has all.
//
// # Security
//
// A node trusts the others. Whoever reaches the port for nodes can read and write all rooms, unless Config.TLS is set: then both ends of each
// connection show a certificate, and its traffic is encrypted. A certificate's addresses are checked by the node that connects, so a node whose
// certificate is for another address can still connect to others.
package cluster

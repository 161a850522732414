// Command bench measures parley and what a user would pick instead, on the same work, in
// one run, on one machine.
//
//	cd bench && go run . -quick
//	go run . -work W1,W2 -peers replica,tcp -json run.json -plots plots
//
//	W1  reliable 64-byte messages at 60 Hz, echoed over a path that delays and loses
//	W2  one connection, reliable ordered 64-byte messages as fast as they go
//	W3  1,000 and 4,000 clients, 32 bytes up and 200 down at 20 Hz
//	W4  one room: 100 clients, 100 objects that move, 20 and 60 times a second
//	W5  200 players in one arena over a path that delays and loses: from asking for a direction to seeing it
//	W6  a player among 150 walkers over a narrow link, with the game server
//
// Server, clients and the bad network are processes of their own, so that CPU time and
// memory are theirs alone: the program starts itself with -role and talks to itself over
// pipes. It needs Linux. docs/bench.md says what is measured and how to add a peer.
//
// # By file
//
//	main.go, plan.go       the command line; tasks, in rounds, with bars that show progress
//	child.go, thread.go    processes, and who starts them
//	roles.go               what they can be asked
//	peers.go, peer_*.go    a file a protocol, behind two or three functions
//	member.go, swarm.go    light clients of W3 and W4: thousands of sockets, one thread
//	work_*.go              a file a work: what is done, and what is measured of it
//	steps.go               directions that players of W5 and W6 ask for, and when they see them
//	feel_*.go              W5: the game server with the arena, and its players
//	narrow_*.go            W6: its world, server and player; the link, and networks for both ends, of W5 and W6
//	external.go            peers that are programs in other languages: enet/, colyseus/
//	report.go, stats.go    samples, their medians and spread; JSON
//	table.go, plot.go      what people read
//	bars.go                what the project asks of itself, and whether this run met it
package main

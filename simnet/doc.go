// Package simnet is a network in memory and in virtual time, for tests of code that sends datagrams: parley's own, and
// yours. Links lose, delay, duplicate, reorder and corrupt datagrams. Hosts crash, move and have wrong clocks. The same
// seed replays the same run.
//
// # Usage
//
// A Network drives a protocol that is written as a pure state machine (the interface Node: no socket, no goroutine, no
// clock). A simulated minute takes a few milliseconds, and the same seed gives the same run to the bit:
//
//	net := simnet.New(seed)
//	net.Default(simnet.FourG())
//	a := net.Add(addrA, clientEndpoint)
//	b := net.Add(addrB, serverEndpoint)
//	a.AfterTurn(func(now time.Time) { takeEvents(clientEndpoint) })
//	net.After(3*time.Second, "storm", func() { net.Partition(a, b, false) })
//	net.After(9*time.Second, "calm", func() { net.Heal(a, b) })
//	err := net.RunUntil(allDelivered, time.Minute)
//
// After the application has called into an endpoint outside its turn, for example to send, it calls Host.Poke.
//
// Code that wants a net.PacketConn, with goroutines and timers of its own, gets one from a Live, inside a
// testing/synctest bubble. The links are the same, but the seed does not control the order of goroutines.
//
// A swarm runs one test under many kinds of bad networks. RandomPlan draws a plan of faults from a seed. Report
// writes the plan of a failing seed as a script. ParsePlan reads the script, and Plan.Shrink makes a plan smaller:
//
//	for seed := range uint64(2000) {
//		plan := simnet.RandomPlan(seed, []string{"server", "client"}, simnet.PlanLimits{})
//		if err := run(simnet.New(seed), plan); err != nil {
//			t.Fatalf("%v\n%s", err, simnet.Report(seed, plan))
//		}
//	}
//
// # Life of a datagram
//
//	host.go    after each Handle* the network calls AfterTurn, then PollTransmit until it returns false, then NextTimeout
//	send.go    the Filter sees it; is there a host at the address, is the path cut?
//	link.go    MTU, queue and rate, loss, bursts; then for each copy corruption, delay, jitter, reordering
//	event.go   it waits in a heap that is ordered by time, and within one instant by order of creation
//	run.go     it leaves the heap when it is due
//	send.go    is the host still at that address, is it up? then HandleDatagram
//	stats.go   each end of a datagram is a Fate with a counter, and the sums match: Stats.Balance
//	trace.go   each step goes into the hash, and on request into a text
//
// conn_live.go and conn.go do the same for a Live.
//
// # What is exact
//
// Times are whole nanoseconds. A rate drains a queue without accumulating rounding errors. Each link has a random
// source of its own, made from the seed and the link's identity, so a new link, or traffic on one link, does not change
// the losses of another. All arithmetic uses integers, or single float operations that IEEE 754 fixes to the bit, so a
// seed means the same on all machines.
//
// # Limits
//
// Limits bounds the steps at one instant and in a run, the datagrams that one turn sends, and the datagrams in flight.
// A run that exceeds a limit returns a *LivelockError that names the host. Burst losses count datagrams, not time. A
// queue is drop-tail. There is no ECN, no fragmentation and no ICMP: a datagram above the MTU is dropped without
// notice. A partition stops datagrams that are sent while it holds, not datagrams in flight. A network carries
// datagrams only, no streams.
package simnet

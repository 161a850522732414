// Package simnet is a network in memory in virtual time, for tests of code that speaks over datagrams: parley's own,
// and yours. Links lose, delay, duplicate, reorder and corrupt; hosts crash, move and have wrong clocks; a seed replays
// it all.
//
// # Usage
//
// A protocol that is written as a pure state machine (the interface Node: no socket, no goroutine, no clock) is driven
// by a Network. A minute of it takes a few milliseconds, and the same seed gives the same run to the bit:
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
// When the application calls into an endpoint from outside its turn, for example to send, it then calls Host.Poke.
//
// Code that wants a net.PacketConn, with goroutines and timers of its own, gets one from a Live, inside a bubble of
// testing/synctest. The links are the same; only the order of goroutines is not under the seed's control.
//
// A swarm runs one test under many kinds of bad networks. RandomPlan draws the faults from a seed; Report prints
// a seed that fails as a script (see Plan), which ParsePlan reads and Shrink makes smaller:
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
//	host.go    after each Handle* the network calls AfterTurn, then PollTransmit until it says no, then NextTimeout
//	send.go    the Filter sees it; is there a host at the address, is the way cut?
//	link.go    MTU, queue and rate, loss, bursts; then for each copy corruption, delay, jitter, reordering
//	event.go   it waits in a heap that is ordered by time, and for one instant by order of birth
//	run.go     its time has come
//	send.go    is the host still at that address, is it up? then HandleDatagram
//	stats.go   each end of this way is a Fate with a counter, and they sum up: Stats.Balance
//	trace.go   each step goes into the hash, and if wanted into a text
//
// conn_live.go and conn.go do the same for a Live.
//
// # What is exact
//
// Times are whole nanoseconds. A rate drains a queue without rounding errors that add up. Each link has a random source
// of its own, from the seed and from which link it is, so a new link, or traffic on one, does not change the losses of
// another. All of it is integer arithmetic, or single float operations that IEEE 754 fixes to the bit, so a seed means
// the same on all machines.
//
// # Limits
//
// Limits bounds the steps at one instant and in a run, the datagrams that one turn sends and those under way; passing
// one is a *LivelockError that names the host. Burst losses count datagrams, not time. A queue is drop-tail; there is
// no ECN, no fragmentation and no ICMP: a datagram above the MTU vanishes. Partitions stop what is sent while they
// hold, not what is under way. A network carries datagrams only; there are no streams.
package simnet

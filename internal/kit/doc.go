// Package kit is the conformance kit: properties that several dialects have, each written once. Only tests import it.
//
// The tests of replica, stamp and relay each fill a Dialect, in adapter_test.go of the core package. It says how to make a
// server core and a client core, and has a few calls on them. Then one line runs a property:
//
//	func TestChurn(t *testing.T) { kit.Churn(t, dialect, 10_000, 125_000) }
//
// All runs are in virtual time. Each random run prints its seed, and -seed repeats it. A property records its promise
// (the T numbers of docs/reliability.md) for the part Dialect.Name.
//
// Properties of one dialect, such as those of relay's rooms or duplex's elements, are in that dialect's own tests. These can
// use the smaller pieces, and so can duplex and realm, whose cores read streams:
//
//	Rand, Seeds, Seed     the random source of a test, and loops over seeds (seed.go)
//	Tier, Rounds, Race    how many rounds to run (seed.go)
//	Net                   a simulated network with a test's waits: Run, Until (net.go)
//	Town                  a server core and its clients, joined without a network (town.go)
//	Parts, SameRun, Soak  T21, T20 and T22 for any run under a plan of faults (runs.go)
//	RandomBytes           T3 for any parser (bytes.go)
//	States, Walks         T26 for the tables of states on a page: each message in each state (states.go)
//	Cuts                  that a stream reads alike however it is cut (cuts.go)
//	Layout, Limits        T6 for the tables of a page (layout.go)
//	Vectors, ReadVectors  packets that were written by hand, and T6 for them (vectors.go)
//	Held                  a row of docs/limits.md: what a connection holds (held.go)
//	Spread                a random loop on all cores (spread.go)
//	Slow                  players on a slow link, in a world that has more to say than it carries (slow.go, slow_bars.go)
//	Traffic               counters of a server that never fall (traffic.go)
//	Sessions              streams that are no socket, for a server's second carrier (sessions.go)
//
// Properties of a Dialect: Churn (churn.go), Handshake and HandshakeCopies (handshake.go), Goodbye (goodbye.go), Tiny
// (hostile.go), and those of a Swarm under a plan of faults (swarm.go).
//
// The servers and clients around the cores have a kit of their own. The tests of replica and stamp each fill a Shell
// (shell.go), in adapter_test.go of the dialect's package. It runs over sockets of every kind and in memory, inside synctest
// bubbles.
// Properties of a Shell: Servers (shell_server.go), Clients (shell_client.go), and ShellChurn, Faults and Stalls
// (shell_load.go).
package kit

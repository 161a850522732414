// Package kit is the conformance kit: the properties that every dialect has, each written once. Only tests import it.
//
// A dialect's tests fill a Dialect: how to make a server core and a client core, and a few verbs over them. It is a page
// of code, adapter_test.go of the dialect's core package. Then one line runs a property:
//
//	func TestChurn(t *testing.T) { kit.Churn(t, dialect, 10_000, 125_000) }
//
// All runs are in virtual time. Each random run prints its seed, and -seed repeats it. A property records its promise
// (the T numbers of docs/reliability.md) for the part Dialect.Name.
//
// What is a dialect's own, such as a room of relay or a value of duplex, stays in that dialect's tests, which can use the
// smaller pieces:
//
//	Rand, Seeds, Seed     the random source of a test, and loops over seeds (seed.go)
//	Tier, Rounds, Race    how many rounds to run (seed.go)
//	Net                   a simulated network with a test's waits: Run, Until (net.go)
//	Town                  a server core and its clients, joined without a network (town.go)
//	Parts, SameRun, Soak  T21, T20 and T22 for any run under a plan of faults (runs.go)
//	RandomBytes           T3 for any parser (bytes.go)
//	States, Walks         T26 for the tables of a page, and a stage that an end is tried on (states.go)
//	Cuts                  that a stream reads alike however it is cut (cuts.go)
//	Layout, Limits        T6 for the tables of a page (layout.go)
//	Vectors, ReadVectors  packets that were written by hand, and T6 for them (vectors.go)
//	Held                  a row of docs/limits.md: what a connection holds (held.go)
//	Spread                a random loop on all cores (spread.go)
//	Traffic               counters of a server that never fall (traffic.go)
//	Sessions              streams that are no socket, for a server's second carrier (sessions.go)
//
// Properties of a Dialect: Churn (churn.go), Handshake and HandshakeCopies (handshake.go), Goodbye (goodbye.go), Tiny
// (hostile.go), and those of a Swarm under a plan of faults (swarm.go).
//
// The servers and clients around the cores have a kit of their own, with another page, adapter_test.go of the dialect's
// package, that fills a Shell (shell.go). It runs over sockets of every kind and in memory, inside synctest bubbles.
// Properties of a Shell: Servers (shell_server.go), Clients (shell_client.go), and ShellChurn, Faults and Stalls
// (shell_load.go).
package kit

// Package roster is the table of a server core's connections. It finds them by address, lists those with events
// or packets to poll, and knows the next timer. Each dialect's Mux has one.
//
//	type member = roster.Member // a name that users of a Conn do not see
//
//	type Conn struct {
//		member
//		…
//	}
//
//	r := roster.New[*Conn]()
//	r.Add(from, c)
//	c := r.Get(from)             // for each datagram
//	r.Touch(c)                   // after each call of c
//	for c, ok := r.Eventful(); … // poll its events, then r.Calm(c)
//	for c, ok := r.Busy(); …     // poll its packets, then r.Rest(c, c.NextTimeout())
//	for c, ok := r.Due(now); …   // its time has come
//
// A connection is in each list at most once, so no list is longer than the table. The order of the lists depends
// only on the calls, never on the order of a map, so that the same seed gives the same run.
//
// A Lobby holds connections that are proven and have not entered. Their number is bounded for each address, they
// have a time limit to enter, and they take no player's place. It counts the places that are taken.
//
// Replies are the answers to addresses without a connection: small, few, and without state for the address.
//
// The package has no socket, clock or goroutine, and allocates only to grow. One goroutine owns a Roster. The
// package does not know what a connection is, and does not decide which connections to admit (internal/admission
// does) or how many are too many.
package roster

// Package roster is the table of a server core: the connections by address, those with events or packets to poll,
// and the next timer. Each dialect's Mux has one.
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
// only on the calls, and never on a map: a seed repeats a run.
//
// A Lobby holds connections that are proven and have not entered. They are bounded by address, have a time limit
// to enter, and take no place.
//
// Replies are the answers to addresses without a connection: small, few, and without state for the address.
//
// The package is pure, allocates only to grow and is owned by one goroutine. It does not know what a connection
// is, whom to admit (internal/admission does), nor how many are too many.
package roster

// Package roster is the table of a server core: who is connected from which
// address, who has events or packets to be polled, and whose timer is next. Each
// dialect's Mux has one.
//
//	type Conn struct {
//		roster.Member
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
// A connection is in each list at most once, so none of them is longer than the
// table. The order of all of them depends on the calls alone, and never on a map: a
// seed repeats a run.
//
// A Lobby is where those are who have shown that they receive what is sent to them, and have not entered: they are
// bounded by address, have a time to enter in, and take no place.
//
// Replies are the answers to addresses without a connection: small, few and
// without a memory of who asked.
//
// The package is pure, allocates only to grow and is owned by one goroutine. It does
// not know what a connection is, whom to let in (internal/admission does), nor how
// many are too many.
package roster

// Package timers is a heap of items by the time of their next call: the one timer of a
// server core for all its connections.
//
// An item embeds a Timer, which holds its index in the heap, so changing its time takes
// logarithmic time and leaves no stale entry. The heap allocates only to grow, and is
// owned by one goroutine.
package timers

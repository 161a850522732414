// Package timers is a heap of things by the time that each wants to be called
// next: the one timer of a server core over all its connections.
//
// A thing embeds a Timer and so its heap knows its place: moving one costs a logarithm and
// leaves nothing behind. It is pure, allocates only to grow, and is owned by one
// goroutine.
package timers

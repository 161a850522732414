// Package turns lets other goroutines use the core that a loop owns, between two turns of
// the loop.
//
//	var owner turns.Owner
//	// the loop
//	owner.Begin(last)
//	core.HandleTimeout(now) // and so on
//	owner.End()
//	// others
//	ok := owner.Visit(func() bool { core.Send(…); return false })
//
// The loop of internal/datagram uses it. It knows nothing about sockets, and does not wake a
// loop that sleeps: the visitor has to do that.
package turns

// Package turns lets other goroutines to what a loop owns, between two of its turns.
//
//	var owner turns.Owner
//	// the loop
//	owner.Begin(last)
//	core.HandleTimeout(now) // and so on
//	owner.End()
//	// others
//	ok := owner.Visit(func() bool { core.Send(…); return false })
//
// It is what the loops of internal/udp and internal/stream have in common. It knows nothing of
// sockets, and does not wake a loop that sleeps: that is the visitor's to do.
package turns

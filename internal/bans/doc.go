// Package bans has the banned prefixes of a server, and keeps their packets and connections away from its dialects.
//
// A Table is immutable and pure: it finds in at most 15 comparisons, without an allocation, whether one of 10,000 prefixes holds an
// address. A Set has the newest Table behind an atomic pointer, so that a ban holds from the next datagram on and nobody waits for
// a lock. A Door is a Set for one server, and counts what it turned away.
//
//	set := new(bans.Set)
//	door := bans.NewDoor(set.Holds) // one for each server
//	set.Use(bans.NewTable(entries))
//	if door.Shuts(now, from) { return } // on the path of each packet
//
// A source of a datagram may be forged: a ban of somebody else's address is the operator's to judge. Nothing is answered to a banned
// source, so nobody can be flooded by way of a ban.
package bans

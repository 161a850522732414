package carry

import "sync/atomic"

// Stats counts every fate of the sessions of one dialect, and of their datagrams.
type Stats struct {
	Open   uint64 // sessions now
	Opened uint64 // sessions that began

	Hasty   uint64 // refused because their host or network began too many in a second
	Crowded uint64 // refused because there were too many, of their host or in all
	Banned  uint64 // refused because their address was banned; also datagrams of sessions that were open then, and pieces of streams
	Closed  uint64 // refused because the server was closing

	// Why sessions ended. The sum is Opened - Open.
	Left   uint64 // their peer closed them, or the network did
	Done   uint64 // the dialect's connection was over
	Silent uint64 // they had no connection of the dialect in time
	Stuck  uint64 // their peer took nothing for 10 s
	Flood  uint64 // they sent too many messages
	Wrong  uint64 // they broke the carrier's rules: text, a message over 64 KiB, a frame that is malformed
	Cut    uint64 // the server closed

	In      uint64 // datagrams that the core was given
	InBytes uint64 // of those
	InFull  uint64 // dropped, as too many of their session waited for the core
	InLarge uint64 // dropped, as they were too large

	Out      uint64 // datagrams that a carrier took
	OutBytes uint64 // of those
	OutOld   uint64 // dropped for newer ones, as their session did not take them
	OutLarge uint64 // dropped, as they were too large for the carrier
	OutGone  uint64 // for sessions that had ended, and those that waited when a session ended
}

// counters are the Stats of a Hall. The ends of sessions are counted by Why.
type counters struct {
	open                                                                   atomic.Int64
	opened, hasty, crowded, banned, closed                                 atomic.Uint64
	in, inBytes, inFull, inLarge, out, outBytes, outOld, outLarge, outGone atomic.Uint64
	ended                                                                  [whyCount]atomic.Uint64
}

func (c *counters) snapshot() Stats {
	return Stats{
		Open: uint64(max(c.open.Load(), 0)), Opened: c.opened.Load(), Hasty: c.hasty.Load(), Crowded: c.crowded.Load(), Banned: c.banned.Load(), Closed: c.closed.Load(),
		Left: c.ended[Left].Load(), Done: c.ended[Done].Load(), Silent: c.ended[Silent].Load(), Stuck: c.ended[Stuck].Load(),
		Flood: c.ended[Flood].Load(), Wrong: c.ended[Wrong].Load(), Cut: c.ended[Cut].Load(),
		In: c.in.Load(), InBytes: c.inBytes.Load(), InFull: c.inFull.Load(), InLarge: c.inLarge.Load(),
		Out: c.out.Load(), OutBytes: c.outBytes.Load(), OutOld: c.outOld.Load(), OutLarge: c.outLarge.Load(), OutGone: c.outGone.Load(),
	}
}

// Why says why a session ended.
type Why uint8

// The reasons.
const (
	Left   Why = iota + 1 // the peer closed it, or the network did
	Done                  // the dialect's connection is over
	Silent                // it had no connection of the dialect in time
	Stuck                 // the peer took nothing
	Flood                 // it sent too many messages
	Wrong                 // it broke the carrier's rules
	Cut                   // the server closes
	whyCount
)

// String returns the reason in words, which peers and the log are told.
func (w Why) String() string {
	return [...]string{"", "left", "connection over", "no connection in time", "nothing was read", "too many messages", "malformed", "server closing"}[w]
}

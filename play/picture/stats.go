package picture

import "time"

// Stats are what a client has measured. Counters begin with New.
type Stats struct {
	Frames      uint64 // that were drawn while ticks were told
	Unbracketed uint64 // of these: others were drawn later than what had come

	Delay  time.Duration // by how much others are drawn behind the newest that has come
	Lead   time.Duration // by how much the own entity is drawn ahead of the newest that has come; 0 if it is not predicted
	Margin int           // by how many ticks the newest input came before it was needed

	Inputs  uint64  // that were sent, each counted once
	Sent    uint64  // messages with them
	Fates   uint64  // ticks whose truth has come
	Rerun   uint64  // ticks that were run again for it
	Wrong   uint64  // truths that differed from what was predicted by over a hundredth of a cell
	Large   uint64  // by over half a cell
	Snapped uint64  // by so much that the body jumped
	Error   float64 // the sum of these differences, in cells

	Rests uint64 // times that prediction stopped because it took too long: for eight times as long, and 10 s at most

	Adopted uint64 // entities of own actions that the server told of
	Undone  uint64 // those that it did not tell of

	EntitiesLost uint64 // entities that were not drawn, as there are too many
	EventsLost   uint64 // events that nobody asked for in time
}

// Stats returns what was measured so far.
func (c *Core) Stats() Stats {
	s := c.stats
	s.Delay = max(0, c.span(float64(c.newest)-c.frame.Tick))
	if c.mine.ready {
		s.Lead = c.span(c.mine.at - float64(c.newest))
	}
	return s
}

func (c *Core) span(ticks float64) time.Duration { return time.Duration(ticks * float64(c.period)) }

package line

// pace finds out whether a server of realm makes more ticks a second than its client counts: realm does not tell how many it makes, and a client
// with another number draws its own player elsewhere than the server has it. A server that makes fewer cannot be told from one that
// is too busy.
type pace struct {
	rate  uint64 // the client's ticks a second
	at    uint64 // the client's tick at the message before
	ahead int64  // by how much that was ahead of it, without what a clock that stood still has added
}

const (
	// sureAhead is for how many seconds a server is ahead whose ticks are too fast: a log-in that came late is ahead by less.
	sureAhead = 5

	// mostPace is how many times as fast as the client a server may be. What is faster is a client that was asleep.
	mostPace = 5
)

// runsAhead takes the tick of a message, and the client's tick when it came. It reports whether the server makes more ticks a second.
func (p *pace) runsAhead(tick, now uint64) bool {
	grown := int64(tick-now) - p.ahead
	if since := int64(now - p.at); p.at == 0 || grown > (mostPace-1)*since+int64(p.rate) {
		grown = 0
	}
	p.at = now
	p.ahead += grown
	return p.ahead > sureAhead*int64(p.rate)
}

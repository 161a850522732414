// Package clocksync estimates a peer's clock: from samples it computes server time,
// round-trip time and a bound on the error. It also maps server time to ticks and back.
//
// # Usage
//
//	var clock clocksync.FourTime
//	clock.Add(clocksync.Exchange{Sent: t0, PeerReceived: r, PeerSent: s, Received: t1})
//	serverNow := clock.Remote(now)       // µs
//	showAt := clock.Local(stamp)         // when server time will be stamp
//	if clock.ErrorBound(now) < 50*time.Millisecond { ... }
//
// FourTime is for protocols whose answers carry two of the peer's times (replica, and
// realm's version 10 time server, where both are the same). OneWay is for protocols in
// which one exchange is followed by packets that carry only the sender's time (stamp, and
// realm's burst). Ticks converts server time to tick numbers.
//
// # Life of a sample
//
//	Add, Accept, Stamp   checked against limits.go: a refused sample changes only a counter
//	window               the last 8 exchanges or 32 stamps (fourtime.go, oneway.go)
//	aim                  the offset of the best of them becomes the target of the slew (slew.go)
//	Remote, Local        the reading, a continuous function of local time
//
// # Slewing
//
// The first sample sets the clock. After that a reading never jumps: it runs at most 5%
// faster or slower than the local clock until it has reached the target offset. So Remote
// never goes back while its now does not. No sample, however wrong, moves the reading by
// more than 50 ms in a second.
//
// Remote times are µs in a uint64 that may start anywhere and may wrap; all arithmetic is
// relative to the first one. Local times are time.Time values of the caller. Their
// monotonic part is used, if they have one.
//
// # Limits
//
// See limits.go. A FourTime takes at most 400 bytes, a OneWay less; neither allocates.
//
// # What it does not do
//
// It has no socket, no timer and no goroutine, reads no clock itself, and is not safe for
// use by several goroutines. It does not match answers to questions: the caller knows which
// Sent belongs to which answer. If a question was repeated and the answer could belong to
// any of the repeats, give the earliest Sent. The round trip is then measured too long,
// never too short, and the error bound still holds.
//
// # Security
//
// A peer can lie about its own clock without being detected; the slew limit bounds the
// harm. The error bound holds for honest peers, if their clocks and ours are within 500
// ppm of true time. It does not hold for a peer whose clock is itself being slewed, so a
// replica server should use only RTT, not Remote, from its clients' reports.
package clocksync

package clocksync

import "time"

// Limits of the specification pages.
const (
	// exchangeWindow is how many exchanges are remembered: "the sample with the least
	// round trip in the last 8".
	exchangeWindow = 8

	// stampGroups and groupStamps remember 32 stamps: "the least one-way delay of the last
	// 32". Only the best of each group is kept, so that the window costs 128 bytes in place
	// of 512; it covers the last 29 to 32 stamps.
	stampGroups = 8
	groupStamps = 4
	stampWindow = stampGroups * groupStamps
)

// Our limits.
const (
	// slewDivisor sets how fast a reading may be corrected: a twentieth of the time that
	// passes, 5%. It is 50 times the drift that we allow two clocks, so it always catches
	// up. A game that runs 5% fast is hard to notice. A forged or replayed sample can move
	// the reading by at most 50 ms a second.
	slewDivisor = 20

	// skewDivisor is the drift allowed between two clocks: a thousandth, 1,000 ppm, which is
	// 500 ppm each in opposite directions. The error bound grows by it with the age of the
	// sample.
	skewDivisor = 1000

	// maxRTT is the longest round trip believed, and the longest that a peer may say it
	// held a question. Without it one absurd sample could make timers that are derived
	// from the round trip sleep for years.
	maxRTT = 10 * time.Second

	// minSmoothedRTT is the floor of SmoothedRTT: timers are derived from it, and a peer that
	// claims to answer in no time must not make them spin. RTT itself has no floor, since
	// 50 µs on a local network is the truth.
	minSmoothedRTT = time.Millisecond

	// granularity is the error from rounding: peers and we cut times down to whole µs.
	granularity = 2 * time.Microsecond

	// maxStampDelay is how much later than the best of the window a stamp may be to be
	// used. A later one does not belong to this clock.
	maxStampDelay = 10 * time.Second
)

// Bounds of the arithmetic: with these no sum or product below can overflow an int64,
// whatever a peer sends. They are in ns unless noted.
const (
	maxOffset    = int64(1) << 56 // about 2 years of correction since the first sample
	maxElapsed   = int64(1) << 61 // about 73 years of local time
	maxRelMicros = int64(1) << 51 // about 71 years of remote time, in µs
)

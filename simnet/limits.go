package simnet

import "time"

// Limits bound a run, so that a node that never rests fails its test instead of hanging it. A zero field has its
// default.
type Limits struct {
	// StepsAtOnce is how many steps (datagrams, timeouts, script steps) one host may take at one instant. It catches
	// two nodes that answer each other over a link without delay, and a node whose timeout stays in the past.
	// Default 1,000.
	StepsAtOnce int

	// Steps is how many steps one call of Run or RunUntil may take in all. It catches traffic that grows or never
	// ends. Default 1,000,000; raise it for long simulated times.
	Steps int

	// TransmitsATurn is how many datagrams one host may send between two steps. It catches a PollTransmit that never
	// returns false. Default 10,000.
	TransmitsATurn int

	// InFlight is how many datagrams may be in flight at one time. It bounds the memory of a run whose senders do not
	// slow down. Default 262,144.
	InFlight int
}

const (
	defaultStepsAtOnce    = 1_000
	defaultSteps          = 1_000_000
	defaultTransmitsATurn = 10_000
	defaultInFlight       = 1 << 18
)

// withDefaults fills in the fields that are zero.
func (l Limits) withDefaults() Limits {
	fill := func(field *int, otherwise int) {
		if *field == 0 {
			*field = otherwise
		}
	}
	fill(&l.StepsAtOnce, defaultStepsAtOnce)
	fill(&l.Steps, defaultSteps)
	fill(&l.TransmitsATurn, defaultTransmitsATurn)
	fill(&l.InFlight, defaultInFlight)
	return l
}

const (
	// maxDatagramBytes is the largest payload that UDP over IPv4 can carry: 65,535 less both headers. It is the size
	// of the buffer that PollTransmit gets.
	maxDatagramBytes = 65_507

	// header4Bytes and header6Bytes are what IP and UDP add to each datagram; they count for Rate and MTU.
	header4Bytes = 20 + 8
	header6Bytes = 40 + 8

	// noQueue is the Profile.Queue of the word queue=0.
	noQueue time.Duration = -1

	// maxDelay bounds each time in a Profile and the time of a plan's step, so that sums of a few of them stay far
	// from the end of int64.
	maxDelay = 24 * time.Hour

	// maxTimeout is the furthest that a timeout is looked for; one beyond it, or one that is not set, never comes
	// within a run that ends.
	maxTimeout = 100 * 365 * 24 * time.Hour

	// maxSkewPPM bounds Host.Skew. Real clocks stay within 500; the rest is for tests that want to see a clock fail.
	maxSkewPPM = 500_000

	// maxShrinkRuns bounds Plan.Shrink: each try is a whole run of the caller's test.
	maxShrinkRuns = 1_000

	// defaultReadBuffer is how many bytes of unread datagrams a Conn holds: Linux's default. What comes when it is full
	// is dropped, so a reader that stalls cannot take all memory.
	defaultReadBuffer = 212_992

	// readOverheadBytes is what each unread datagram counts on top of its payload, so that empty ones are bounded too.
	readOverheadBytes = 64
)

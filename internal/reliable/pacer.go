package reliable

import "time"

// pacer spreads packets over the round trip instead of sending a window in one
// burst, and lets small packets pass. NewSender gives it its first credit.
type pacer struct {
	credit int64 // bytes that may go out now; negative after a burst
	filled time.Duration
	wakeAt time.Duration // when there is credit again; 0 if it is not awaited

	small       int64 // bytes that small packets may still pass with
	smallFilled time.Duration
}

const (
	// paceBurst is the least burst, in bytes: enough to be worth a batched system call.
	// paceSpan is the least time between bursts at high rates.
	paceBurst = 8 * mss
	paceSpan  = 2 * time.Millisecond

	// smallRate, in bytes a second, and smallBurst, in bytes, are what small packets may
	// use even if the window is full: about 60 of the largest small packets a second. A
	// link that cannot carry 16 KB/s carries no game.
	smallRate  = 16 << 10
	smallBurst = 4 << 10
)

// ready reports whether there is credit. It is refilled only when it is used up, so that
// pacing costs nothing for a flow that sends little.
func (p *pacer) ready(at time.Duration, s *Sender) bool {
	if p.credit > 0 {
		return true
	}
	rate := s.paceRate()
	if rate == 0 { // not known yet: nothing is held back
		return true
	}
	burst := max(paceBurst, rate*int64(paceSpan)/int64(time.Second))
	elapsed := min(at-p.filled, time.Second)
	p.credit = min(p.credit+rate*int64(elapsed)/int64(time.Second), burst)
	p.filled = at
	if p.credit > 0 {
		p.wakeAt = 0
		return true
	}
	// Wake when there is enough for a few packets, not for each byte.
	p.wakeAt = at + time.Duration((burst/4-p.credit)*int64(time.Second)/rate) + 1
	return false
}

// spend takes n bytes of credit for a packet that went out, with or without asking ready.
func (p *pacer) spend(n int) { p.credit = max(p.credit-int64(n), -paceBurst) }

// express reports whether a packet of n bytes is small enough, and such packets few
// enough, to pass packets that may not be sent now.
func (p *pacer) express(at time.Duration, n int) bool {
	if n > smallPacketBytes {
		return false
	}
	elapsed := min(at-p.smallFilled, time.Second)
	p.small = min(p.small+smallRate*int64(elapsed)/int64(time.Second), smallBurst)
	p.smallFilled = at
	if p.small < int64(n) {
		return false
	}
	p.small -= int64(n)
	return true
}

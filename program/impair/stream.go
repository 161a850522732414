package impair

import (
	"time"

	"parley/simnet"
)

// stream is one direction of a TCP connection: what is lost comes later, and holds up
// all behind it.
type stream struct {
	rtt    time.Duration
	last   time.Duration // when the latest segment arrives
	before time.Duration // when the latest came
	gap    time.Duration // between two of them, smoothed
}

// pass says when a segment arrives and whether it had to be sent again. It is not ok when
// the sender's kernel would have given up.
func (s *stream) pass(now time.Duration, n int, shaper *simnet.Shaper) (at time.Duration, resent, ok bool) {
	s.gap += (now - s.before - s.gap) / 8
	s.before = now
	var room [2]simnet.Arrival
	late := time.Duration(0)
	arrivals := shaper.Pass(now, n, room[:0])
	for tries := range maxResends {
		if len(arrivals) > 0 {
			if len(arrivals) == 2 {
				shaper.Arrived(0) // TCP drops the copy
			}
			s.last = max(s.last, arrivals[0].At+late)
			return s.last, tries > 0, true
		}
		late += s.recovery() << min(tries, 6)
		arrivals = shaper.PassAgain(now, n, room[:0])
	}
	return 0, true, false
}

// recovery is how long a sender takes to know of a loss: a round trip once three later
// segments have arrived, or its resend timer if they would take longer.
func (s *stream) recovery() time.Duration {
	return min(s.rtt+3*s.gap, max(leastResend, 2*s.rtt))
}

// ofStream is a profile as a stream sees it: kernels choose segments that fit, and drop
// those that are damaged. Its queue drops nothing, since the proxy reads no further when
// allowedQueue of it is full.
func ofStream(p simnet.Profile) simnet.Profile {
	p.MTU, p.Corrupt, p.Queue = 0, 0, boundlessQueue
	return p
}

// allowedQueue is how much of a stream may wait in the proxy before it reads no further. The
// bytes that wait in the kernel, in a buffer of bufferBytes, are the rest of the profile's queue.
func allowedQueue(p simnet.Profile) time.Duration {
	if p.Rate == 0 {
		return boundlessQueue
	}
	inKernel := time.Duration(float64(bufferBytes(p)) * 8 / float64(p.Rate) * float64(time.Second))
	return max(0, queueOf(p)-inKernel)
}

// bufferBytes is the kernel's receive buffer for a stream that is read to be slowed down, 0 for the
// kernel's own choice. That choice is megabytes, which at a low rate are a queue of minutes.
func bufferBytes(p simnet.Profile) int {
	if p.Rate == 0 {
		return 0
	}
	bytes := float64(p.Rate) / 8 * queueOf(p).Seconds()
	return int(min(max(bytes/8, leastBufferBytes), mostBufferBytes))
}

func queueOf(p simnet.Profile) time.Duration {
	if p.Queue == 0 {
		return simnet.DefaultQueue
	}
	return max(p.Queue, 0)
}

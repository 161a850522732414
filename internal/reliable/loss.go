package reliable

import (
	"math"
	"time"
)

// lossMeter measures what share of transmissions is never acknowledged. Every copy of a
// reliable packet is acknowledged on its own in all three dialects ("a repeat is not
// delivered, but is acknowledged again"), so the number of acknowledgements compared with
// the number of transmissions gives the loss of the round trip, with or without copies.
// The zero value has measured nothing.
//
// Transmissions are counted in spans of time. A span is judged once all its
// acknowledgements have had time to come.
type lossMeter struct {
	spans  [lossSpans]lossSpan
	newest uint8
	used   uint8
	sent   uint32 // of the judged spans, older ones counting less
	lost   uint32

	permille uint32 // the loss of the round trip in thousandths, as judged last
}

type lossSpan struct {
	first uint64        // the first number that was new in this span
	since time.Duration // when it began
	sent  uint32
	acked uint32
}

const (
	// lossSpans is the number of spans, each half a round trip long: a packet that is
	// acknowledged at all is acknowledged within two round trips. A power of two.
	lossSpans = 4

	// minLossSpan keeps spans long enough to hold more than a packet or two at
	// a game's rate.
	minLossSpan = 40 * time.Millisecond

	// lossMemory is how many transmissions are remembered: the estimate of a 5%
	// loss then has a standard error of about half a percent.
	lossMemory = 1024

	// assumedSent transmissions are taken to have been judged before the first, and assumedLost of them to be lost, if SendConfig.CopyFirst is set. So
	// about 35 packets have a copy if none is lost, which is half a second of a game at 60 Hz.
	assumedSent, assumedLost = 32, 1

	// minLossSamples is how many transmissions are needed for an estimate.
	minLossSamples = 16
)

// transmitted counts one transmission of number n. Only a first transmission
// opens a span, so that a number and its copies are counted in the same one. It
// reports whether the measured loss may have changed.
func (m *lossMeter) transmitted(at time.Duration, n uint64, first bool, rtt time.Duration) (changed bool) {
	if m.used == 0 {
		m.used = 1
		m.spans[0] = lossSpan{first: n, since: at}
	} else if s := &m.spans[m.newest]; first && n > s.first && at-s.since > max(rtt/2, minLossSpan) {
		m.open(at, n)
		changed = true
	}
	if s := m.spanOf(n); s != nil {
		s.sent++
	}
	return changed
}

// acknowledged counts one acknowledgement of number n, repeats too.
func (m *lossMeter) acknowledged(n uint64) {
	// A network that duplicates packets must not hide its losses.
	if s := m.spanOf(n); s != nil && s.acked < s.sent {
		s.acked++
	}
}

// open begins a span and, if all are in use, judges the oldest.
func (m *lossMeter) open(at time.Duration, n uint64) {
	m.newest = (m.newest + 1) % lossSpans
	if m.used < lossSpans {
		m.used++
	} else {
		m.judge(&m.spans[m.newest])
	}
	m.spans[m.newest] = lossSpan{first: n, since: at}
}

func (m *lossMeter) judge(s *lossSpan) {
	m.sent += s.sent
	m.lost += s.sent - s.acked
	for m.sent > lossMemory {
		m.sent -= m.sent / 4
		m.lost -= m.lost / 4
	}
	if m.sent >= minLossSamples {
		m.permille = m.lost * 1000 / m.sent
	}
}

// assume takes a new path for one that loses packets.
func (m *lossMeter) assume() {
	m.sent, m.lost, m.permille = assumedSent, assumedLost, assumedLost*1000/assumedSent
}

// forget drops all counts, as spans were judged too soon. Nothing is assumed then: copies do not help a peer that is slow.
func (m *lossMeter) forget() { *m = lossMeter{} }

// spanOf returns the span in which n was new, nil if it is long past.
func (m *lossMeter) spanOf(n uint64) *lossSpan {
	i := m.newest
	for range m.used {
		if n >= m.spans[i].first {
			return &m.spans[i]
		}
		i = (i + lossSpans - 1) % lossSpans
	}
	return nil
}

// oneWay returns the loss of one direction, assuming that both lose alike.
func (m *lossMeter) oneWay() float64 {
	return 1 - math.Sqrt(1-float64(m.permille)/1000)
}

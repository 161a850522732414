package pace

import (
	"math"
	"time"
)

// lossMeter finds out whether more is lost than the path loses of itself: when we gave way to a loss for a while and as much
// is lost as before, it is the path's own.
type lossMeter struct {
	since       time.Duration
	acked, lost int64
	share       int64 // of what came to its end in the last span, in thousandths
	blamed      int64 // the share, in thousandths, for which we gave way
	times       uint8 // that we did, and it did not help
	begun       bool
	doubt       bool  // in that span more was lost than most paths lose of themselves
	own         int64 // the share that is the path's own
}

// add takes a tick, and reports once a second whether much more was lost than the path loses of itself.
func (m *lossMeter) add(s *span, at time.Duration) bool {
	if !m.begun {
		m.begun, m.own, m.since = true, firstOwn, at
	}
	m.acked, m.lost = m.acked+int64(s.acked), m.lost+int64(s.lost)
	all, severe := m.acked+m.lost, m.isAbove(m.own+strangeLoss)
	if at-m.since < time.Second || all < lossBytes && at-m.since < lossSpan && !severe || all == 0 {
		return false
	}
	m.share = m.lost * 1000 / (m.acked + m.lost)
	share := m.share
	m.doubt = m.isAbove(doubtful)
	m.since, m.acked, m.lost = at, 0, 0
	switch {
	case m.blamed > 0 && share > m.blamed*2/3:
		if m.times++; m.times > lossPatience {
			m.own, m.blamed = max(m.own, min(share, mostOwn)), 0
		}
	case share < m.own:
		m.own -= (m.own - share) / 16
	}
	if share <= m.own+strangeLoss {
		m.blamed = 0
		return false
	}
	if m.blamed == 0 {
		m.blamed, m.times = share, 0
	}
	return m.times > 0 || severe // once may be chance
}

// isDoubtful reports whether more is lost than most paths lose of themselves.
func (m *lossMeter) isDoubtful() bool { return m.doubt || m.isAbove(doubtful) }

// isAbove reports whether by three standard deviations more was lost than this share, in thousandths: then it is not chance.
func (m *lossMeter) isAbove(share int64) bool {
	most := float64(m.acked+m.lost) / packet * float64(share) / 1000 // packets
	return float64(m.lost)/packet > most+3*math.Sqrt(most)+1
}

package core

import (
	"time"

	"parley/internal/clocksync"
)

// syncState is the last sync packets that an answer may come to: a server's
// sync.init, a client's sync.ack.
type syncState struct {
	at       [syncsKept]time.Duration // since born
	sequence [syncsKept]uint16
	used     [syncsKept]bool // true until it is answered
	next     uint8
}

// noteSync remembers a sync packet that expects an answer.
func (e *Endpoint) noteSync(sequence uint16, at time.Time) {
	s := &e.sync
	i := s.next % syncsKept
	s.at[i], s.sequence[i], s.used[i] = at.Sub(e.born), sequence, true
	s.next++
}

// answeredSync returns when the sync packet with this sequence was sent, once.
func (e *Endpoint) answeredSync(sequence uint16) (time.Time, bool) {
	s := &e.sync
	for i, n := range s.sequence {
		if n == sequence && s.used[i] {
			s.used[i] = false
			return e.born.Add(s.at[i]), true
		}
	}
	return time.Time{}, false
}

// sendSyncInit asks the client for its clock. "A lost sync packet is not resent."
func (e *Endpoint) sendSyncInit(now time.Time) {
	n, err := e.sender.Take(now, 4)
	if err != nil {
		return
	}
	e.put(&Packet{Kind: KindSyncInit, Sequence: uint16(n)})
	e.noteSync(uint16(n), now)
}

// challenge makes the peer prove that it is there and listens.
func (e *Endpoint) challenge(now time.Time, within time.Duration, verdict Close) {
	if e.state != StateOpen || e.ending != nil && e.ending.challenged() {
		return
	}
	x := e.begunEnding()
	x.deadline, x.verdict = now.Add(within), verdict
	e.sendSyncInit(now)
}

func (e *Endpoint) handleSyncInit(now time.Time, p *Packet) {
	if e.state == StateClosing || e.side != FromClient {
		e.stats.OutOfState++ // "who has sent one answers no sync"
		return
	}
	if !e.freshNumber(now, p.Sequence) {
		return
	}
	if e.state == StateAccepted {
		e.state, e.client.handshake.next = StateOpen, time.Time{}
		e.tellBundles(now)
	}
	e.sendSyncAck(now, p.Sequence)
}

// sendSyncAck answers with both times in server time.
func (e *Endpoint) sendSyncAck(now time.Time, acked uint16) {
	n, err := e.sender.Take(now, 22)
	if err != nil {
		return
	}
	t := e.ServerTime(now)
	e.put(&Packet{Kind: KindSyncAck, Sequence: uint16(n), Acked: acked, Sent: t, Received: t})
	e.noteSync(uint16(n), now)
}

func (e *Endpoint) handleSyncAck(now time.Time, p *Packet) {
	if e.state == StateClosing {
		e.stats.OutOfState++
		return
	}
	if !e.inTime(now, p.Sent) || !e.inTime(now, p.Received) {
		e.stats.OutOfTime++
		return
	}
	if !e.freshNumber(now, p.Sequence) {
		return
	}
	at, ok := e.answeredSync(p.Acked)
	if !ok {
		return
	}
	if e.side == FromServer {
		e.answerChallenge()
		e.sender.Sample(now.Sub(at) - time.Duration(p.Sent-p.Received)*time.Microsecond)
		e.sendSyncAck(now, p.Sequence)
		return
	}
	if e.client.remote.Add(clocksync.Exchange{Sent: at, PeerReceived: p.Received, PeerSent: p.Sent, Received: now}) {
		e.sender.Sample(e.client.remote.RTT())
	}
}

// freshNumber passes the number of an unreliable packet through the filter.
func (e *Endpoint) freshNumber(now time.Time, sequence uint16) bool {
	n := e.unwrap(sequence)
	if !e.receiver.Pass(now, n, false) {
		return false
	}
	e.accept(now, n)
	return true
}

func (e *Endpoint) syncTimeout(now time.Time) {
	if x := e.ending; x != nil && x.challenged() && !now.Before(x.deadline) {
		e.end(x.verdict)
		return
	}
	if e.side == FromServer && e.state == StateOpen && now.Sub(e.born) >= e.syncAt {
		e.syncAt = now.Sub(e.born) + e.cfg.SyncInterval
		e.sendSyncInit(now)
		if e.parts != nil && e.parts.Waits() {
			e.receiver.Remind(now) // else its sender would give up
		}
	}
}

// serverClock is a client's estimate of its server's clock. It is computed once for each time: a turn has one, and thousands of messages.
type serverClock struct {
	clocksync.FourTime
	at   time.Time // of said
	said uint64
}

// Add is that of FourTime.
func (c *serverClock) Add(x clocksync.Exchange) bool {
	c.at = time.Time{}
	return c.FourTime.Add(x)
}

// Remote is that of FourTime.
func (c *serverClock) Remote(now time.Time) uint64 {
	if now != c.at {
		c.at, c.said = now, c.FourTime.Remote(now)
	}
	return c.said
}

package replica

import (
	"time"

	"parley/internal/clocksync"
)

// syncState is what both sides remember of clock packets.
type syncState struct {
	next time.Time // server: when the next sync.init is due

	// The last sync packets that an answer may come to: a server's sync.init, a
	// client's sync.ack.
	sent [syncsKept]sentSync
	at   uint8

	// A challenge: the connection ends then unless a right sync.ack comes first.
	deadline time.Time
	verdict  Close
}

type sentSync struct {
	sequence uint16
	at       time.Time
	used     bool // true until it is answered
}

// note remembers a sync packet that expects an answer.
func (s *syncState) note(sequence uint16, at time.Time) {
	s.sent[s.at%syncsKept] = sentSync{sequence, at, true}
	s.at++
}

// answered returns when the sync packet with this sequence was sent, once.
func (s *syncState) answered(sequence uint16) (time.Time, bool) {
	for i := range s.sent {
		if x := &s.sent[i]; x.used && x.sequence == sequence {
			x.used = false
			return x.at, true
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
	e.put(&e.control, &Packet{Kind: KindSyncInit, Sequence: uint16(n)})
	e.sync.note(uint16(n), now)
}

// challenge makes the peer prove that it is there and listens.
func (e *Endpoint) challenge(now time.Time, within time.Duration, verdict Close) {
	if e.state != StateOpen || !e.sync.deadline.IsZero() {
		return
	}
	e.sync.deadline, e.sync.verdict = now.Add(within), verdict
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
		e.state, e.handshake.next = StateOpen, time.Time{}
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
	e.put(&e.control, &Packet{Kind: KindSyncAck, Sequence: uint16(n), Acked: acked, Sent: t, Received: t})
	e.sync.note(uint16(n), now)
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
	at, ok := e.sync.answered(p.Acked)
	if !ok {
		return
	}
	if e.side == FromServer {
		e.sync.deadline = time.Time{}
		e.sender.Sample(now.Sub(at) - time.Duration(p.Sent-p.Received)*time.Microsecond)
		e.sendSyncAck(now, p.Sequence)
		return
	}
	if e.remote.Add(clocksync.Exchange{Sent: at, PeerReceived: p.Received, PeerSent: p.Sent, Received: now}) {
		e.sender.Sample(e.remote.RTT())
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
	if !e.sync.deadline.IsZero() && !now.Before(e.sync.deadline) {
		e.sync.deadline = time.Time{}
		e.end(e.sync.verdict)
		return
	}
	if e.side == FromServer && e.state == StateOpen && !now.Before(e.sync.next) {
		e.sync.next = now.Add(e.cfg.SyncInterval)
		e.sendSyncInit(now)
	}
}

package core

import (
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/roster"
)

// handleInit answers someone who wants to connect: "the server sends nothing but
// accepts, one for each init".
func (m *Mux) handleInit(now time.Time, from netip.AddrPort) {
	if why := m.refusal(from); why != "" {
		m.reject(now, from, why)
		return
	}
	if !m.lobby.HasRoom(m.source(from)) {
		m.stats.Crowded++
		return
	}
	p := Packet{Kind: KindAccept, Sequence: acceptNumber, Time: m.clock(now, from)}
	m.reply(from, &p, &m.stats.Accepts)
}

// refusal says why an address is not let in, or nothing.
func (m *Mux) refusal(from netip.AddrPort) string {
	switch {
	case m.down && m.farewell == "":
		return "server closing"
	case m.down:
		return m.farewell
	case m.lobby.Full():
		return serverFull
	case m.cfg.Admit != nil:
		return m.cfg.Admit(from)
	}
	return ""
}

// clock is the time of the connection that an address has next: it "starts at a keyed
// hash of the address", so that who does not receive our accept cannot know it, and the
// ack of it can be judged without a memory of it. It counts the connections that ended there
// in the last 30 s: what is left over from them is not in time for the next.
func (m *Mux) clock(now time.Time, from netip.AddrPort) uint64 {
	return m.secret.Clock(from, m.ended.Next(now, from)) + uint64(now.Sub(m.epoch).Microseconds())
}

// handleAck takes an ack of an address without a connection: "a client's time within 10 s of
// it proves the address: the ack of the accept does so". Any other is a stranger's.
func (m *Mux) handleAck(now time.Time, from netip.AddrPort, p *Packet) {
	t := m.clock(now, from)
	if p.Sequence != acceptNumber || !admission.InTime(p.Time, t) {
		m.notice(now, from, p)
		return
	}
	if why := m.refusal(from); why != "" {
		m.reject(now, from, why)
		return
	}
	if !m.lobby.HasRoom(m.source(from)) {
		m.stats.Crowded++
		return
	}
	m.stats.Opened++
	c := &Conn{mux: m, number: m.ended.Next(now, from)}
	c.hasSource(from)
	c.endpoint.initServer(now, from, m.cfg, m.shared, t, p.Time)
	m.conns.Add(from, c)
	m.conns.Touch(c)
	if gone, ok := m.lobby.Come(now, c.Source().Addr(), c); ok {
		m.stats.GaveWay++
		gone.Close(gaveWay)
	}
}

// What those are told who do not get in.
const (
	serverFull = "server full"
	heedsNot   = "nothing was confirmed"
	gaveWay    = "too many connections that confirm nothing"
)

// enter gives a connection its place, now that its client has confirmed an entity packet, and tells the application of
// it: "A place is taken when a player enters, never before" (entry). Until then a client is sent one empty packet.
func (m *Mux) enter(c *Conn) {
	if !m.lobby.Enter(c) {
		c.Close(serverFull)
		return
	}
	c.endpoint.tell(EventEntered, 0, 0)
}

// closeLate closes those that did not enter in time.
func (m *Mux) closeLate(now time.Time) {
	for c, ok := m.lobby.Due(now); ok; c, ok = m.lobby.Due(now) {
		m.stats.Late++
		c.Close(heedsNot)
	}
}

// notice answers a stranger's ack with a disconnect without a reason, whose sequence is
// that of the ack, "so that a client can tell a true notice" (replica). We have no clock in
// common with a stranger but its own: so the time is its own too, and a client can tell the
// notice by that as well.
func (m *Mux) notice(now time.Time, from netip.AddrPort, p *Packet) {
	if !m.notices.Allow(now, m.source(from), 1) {
		m.stats.Strangers++
		return
	}
	m.reply(from, &Packet{Kind: KindDisconnect, Sequence: p.Sequence, Time: p.Time}, &m.stats.Notices)
}

func (m *Mux) reject(now time.Time, to netip.AddrPort, why string) {
	p := Packet{Kind: KindDisconnect, Sequence: acceptNumber, Time: m.clock(now, to), Reason: cut(why, maxRejectReason)}
	m.reply(to, &p, &m.stats.Rejects)
}

// reply queues an answer to a datagram of an address without a connection, and counts it.
func (m *Mux) reply(to netip.AddrPort, p *Packet, counter *uint64) {
	var room [roster.MaxReply]byte
	if !m.replies.Put(to, p.AppendTo(FromServer, room[:0])) {
		counter = &m.stats.Unsent
	}
	*counter++
}

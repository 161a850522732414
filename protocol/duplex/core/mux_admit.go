package core

import (
	"crypto/subtle"
	"encoding/binary"
	"net/netip"
	"time"

	"parley/internal/admission"
)

// Accept takes a main that a client has opened from an address. It returns nil if there is already a main from that address
// and port, which stays, or if too many have not joined. The caller then closes the new one.
func (m *Mux) Accept(now time.Time, main netip.AddrPort) *Conn {
	m.now = now
	main = admission.Canon(main)
	if m.conns.Get(main) != nil {
		return nil
	}
	m.stats.Accepted++
	c := &Conn{mux: m, e: newEndpoint(now, FromServer, main, m.cfg, m.shared)}
	place, out := m.porch.Enter(main.Addr(), c)
	if out != nil {
		m.stats.Crowded++
		out.Member.e.end(Close{Reason: ReasonCrowded})
		m.touch(out.Member)
	}
	if place == nil {
		m.stats.Crowded++
		m.stats.Ended++
		return nil
	}
	c.place = place
	c.told.conn, c.e.view = c, &c.told
	m.Scene.add(c)
	m.conns.Add(main, c)
	m.touch(c)
	return c
}

// admit answers CONN_INIT: "the server answers CONN_INIT_REP with a player id and a random
// token, or REFUSED (full, banned, closing) and closes".
func (m *Mux) admit(c *Conn) {
	why := m.refusal(c.e.main)
	if why == "" {
		if c.e.player = m.takeID(); c.e.player == 0 {
			why = "no id is free"
		}
	}
	if why != "" {
		m.stats.Refused++
		c.e.refused(why)
		return
	}
	for c.e.token == 0 {
		c.e.token = int32(m.shared.Rand.Uint32())
	}
	m.ids[c.e.player] = c
	c.e.state = StateJoining
	_ = c.e.putMain(&Message{Kind: KindConnInitRep, Player: c.e.player, Token: c.e.token})
}

// refusal says why an address is not let in, or nothing. No place is kept for an address that is let in: an attacker who
// asks for all places and never joins would shut everyone out.
func (m *Mux) refusal(from netip.AddrPort) string {
	switch {
	case m.down:
		return "server closing"
	case m.full():
		return "server full"
	case m.rates != nil && !m.rates.Allow(m.now, admission.Host(from.Addr()), 1):
		m.stats.Hasty++
		return "too many from your address"
	case m.cfg.Admit != nil:
		return m.cfg.Admit(from)
	}
	return ""
}

// full reports whether there are as many players as may be.
func (m *Mux) full() bool { return m.joined >= m.cfg.MaxPlayers }

// takeID returns an id that no player has. They go round, so that one is used again as
// late as can be.
func (m *Mux) takeID() int16 {
	if m.cfg.TakeID != nil {
		id := m.cfg.TakeID()
		if id < 0 || m.ids[id] != nil {
			panic("duplex: TakeID returned an id that is negative or in use")
		}
		return id
	}
	for range MaxPlayer {
		if m.lastID == MaxPlayer {
			m.lastID = 0
		}
		if m.lastID++; m.ids[m.lastID] == nil {
			return m.lastID
		}
	}
	return 0
}

// handleFeedInit takes a FEED_INIT from anyone.
func (m *Mux) handleFeedInit(now time.Time, from netip.AddrPort, d *Datagram) {
	c := m.ids[d.Player]
	// The one who has the feed is heard whatever others send in its name.
	holds := c != nil && c.e.feed.peer == from
	switch {
	case !holds && m.silenced(now, from):
		m.stats.Ignored++
	case c == nil || c.e.state >= StateClosing || !m.cfg.AnyFeedAddr && admission.SourceOf(m.cfg.Sessions, from).Addr() != c.e.main.Addr():
		m.stats.NoPlayer++
	case !sameToken(d.Token, c.e.token):
		m.wrongToken(now, from)
	case c.e.feed.judge(d.Sequence) != seqNew, m.taken(now, from, c):
		m.stats.InitsRefused++
	default:
		m.bind(now, from, c, d.Sequence)
	}
}

// sameToken compares in constant time: a comparison that stops at the first difference
// would tell a guesser how far it got.
func sameToken(a, b int32) bool {
	var x, y [4]byte
	binary.BigEndian.PutUint32(x[:], uint32(a))
	binary.BigEndian.PutUint32(y[:], uint32(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// wrongToken counts a wrong token against its source: see maxWrongTokens.
func (m *Mux) wrongToken(now time.Time, from netip.AddrPort) {
	m.stats.WrongToken++
	if m.wrong == nil {
		m.wrong = admission.NewHalfOpen[uint8](admission.HalfOpenConfig{Max: maxGuessers, Crowded: -1, Life: silence}, m.key)
	}
	count, _ := m.wrong.Open(now, from)
	if *count++; *count == maxWrongTokens {
		// The silence begins now, not with the first of them.
		m.wrong.Drop(now, from)
		count, _ = m.wrong.Open(now, from)
		*count = maxWrongTokens
	}
}

// silenced reports whether a source has sent so many wrong tokens that it is not heard.
func (m *Mux) silenced(now time.Time, from netip.AddrPort) bool {
	if m.wrong == nil {
		return false
	}
	count := m.wrong.Get(now, from)
	return count != nil && *count >= maxWrongTokens
}

// taken reports whether a source is the living feed of another player, who keeps it: a right
// token is no reason to get the datagrams of one's neighbour.
func (m *Mux) taken(now time.Time, from netip.AddrPort, c *Conn) bool {
	holder := m.feeds[from]
	return holder != nil && holder != c && now.Sub(holder.e.feed.heard) < m.cfg.FeedTimeout
}

// bind makes a source the feed of a player: a token "may be used again by the same player
// to move the feed to a new port (a NAT that forgot)".
func (m *Mux) bind(now time.Time, from netip.AddrPort, c *Conn, sequence int64) {
	if c.e.feed.peer == from {
		m.stats.Kept++
	} else {
		m.stats.Bound++
		if holder := m.feeds[from]; holder != nil {
			holder.loseFeed()
			m.touch(holder)
		}
		delete(m.feeds, c.e.feed.peer)
		m.feeds[from] = c
		c.e.feed.peer = from
		if m.former.Has(now, from) {
			c.e.feed.wary = now.Add(silence)
		}
	}
	c.e.now = now
	c.e.feed.take(now, sequence)
	c.e.putFeed(&Message{Kind: KindFeedInitRep, Token: c.e.token})
	if c.e.state == StateOpen && c.e.feed.said {
		c.e.setUp(true)
	}
	m.touch(c)
}

// loseFeed takes the feed away from a player: somebody else has its address now.
func (c *Conn) loseFeed() {
	c.e.feed.peer = netip.AddrPort{}
	c.e.feed.loose.Clear(c.e.lender)
	c.e.setUp(false)
}

// forget takes a closed connection out of the tables: a token "dies with main".
func (m *Mux) forget(c *Conn) {
	m.porch.Leave(c.place)
	if c.counted {
		m.joined--
	}
	if c.e.player != 0 && m.ids[c.e.player] == c {
		delete(m.ids, c.e.player)
		if m.cfg.FreeID != nil {
			m.cfg.FreeID(c.e.player, c.Joined() && !c.entry.named)
		}
	}
	if m.feeds[c.e.feed.peer] == c {
		delete(m.feeds, c.e.feed.peer)
		m.former.Add(m.now, c.e.feed.peer)
	}
	c.scene.remove(c)
	m.conns.Remove(c.e.main, c)
	m.stats.Ended++
	sums.Add(&m.past, &c.e.stats)
}

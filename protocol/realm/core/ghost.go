package core

import "time"

// An account has one session. If a connection that is dead has it, and nobody knows yet, its owner would have to wait for
// Config.Timeout to get in again. So a log-in that is told "already connected", which only the right password brings, has the
// old connection probed: "one whose player is there gets already connected, as the document says, once the old
// connection has answered a ping; without an answer in 2 s the new one takes its place" (entry).
//
// The way of it: AnswerLogin(LoginAlreadyConnected) → challenge, which pings the old connection and lets the question wait →
// a pong answers the question (ponged), or 2 s without one end the old connection (replace). When that end, or any other, was
// told to the program, which ends the session, the question is asked again as a new EventLogin (askAgain): its password is checked
// anew, and with it all that may have changed.

// probe is what a connection that has an account's session knows of those who want it.
type probe struct {
	until    time.Time // when the probe under way is lost; zero if there is none
	answered time.Time // when the last probe was answered
	heir     *Conn     // whose log-in waits for the end of it, nil if none
	question uint64    // which of its questions that is
}

// waits reports whether somebody still waits for the end of the probe.
func (p *probe) waits() bool {
	return p.heir != nil && p.heir.endpoint.pending(p.question, EventLogin)
}

// keyOf returns the form in which names of accounts are compared.
func (m *Mux) keyOf(name string) string {
	if m.hooks.Key == nil {
		return name
	}
	return m.hooks.Key(name)
}

// Holder returns the connection that has the session of an account, in the game or about to enter, or nil.
func (m *Mux) Holder(name string) *Conn { return m.holders[m.keyOf(name)] }

// hold notes that a connection has an account's session.
func (m *Mux) hold(c *Conn, name string) {
	c.account = m.keyOf(name)
	m.holders[c.account] = c
}

// unhold notes that it has none any more.
func (m *Mux) unhold(c *Conn) {
	if m.holders[c.account] == c {
		delete(m.holders, c.account)
	}
}

// challenge has a log-in wait until it is known whether the connection that has the session is still there. It returns
// false if that is known already, or if the Mux knows no such connection.
//
// There is one probe at a time for a connection, and one log-in that waits for it, the newest: the one before may be of a client
// that has lost its connection again. An answer stands for a while, so that log-ins, however many, ping a connection
// that is there once in that time.
func (m *Mux) challenge(c *Conn, q Question) bool {
	old := m.Holder(q.Name)
	if old == nil || old == c {
		return false
	}
	e, p := old.endpoint, &old.probe
	if e.state < StateClosing && p.until.IsZero() {
		if !p.answered.IsZero() && m.now.Sub(p.answered) < probeRest {
			return false
		}
		m.stats.Probed++
		p.until = m.now.Add(probeWithin)
		e.pinged = true
		e.send(m.now, &Message{Kind: KindPing})
		m.touch(old)
	}
	m.turnAway(p)
	p.heir, p.question = c, q.Number
	return true
}

// turnAway answers the log-in that waits, if any: the account is in.
func (m *Mux) turnAway(p *probe) {
	if p.waits() {
		p.heir.endpoint.answerLogin(m.now, p.question, LoginAlreadyConnected)
		m.touch(p.heir)
	}
	p.heir = nil
}

// ponged notes that a connection is there.
func (c *Conn) ponged(now time.Time) {
	p := &c.probe
	if p.until.IsZero() {
		return
	}
	p.until, p.answered = time.Time{}, now
	c.mux.turnAway(p)
}

// isLost reports whether a connection had its time to answer.
func (c *Conn) isLost(now time.Time) bool {
	return !c.probe.until.IsZero() && !now.Before(c.probe.until)
}

// replace ends a connection that has not answered, if somebody waits for its place. Its queue is dropped: whoever is not there
// does not read it, and the new one is not to wait for that.
func (c *Conn) replace(now time.Time) {
	p, e := &c.probe, c.endpoint
	p.until = time.Time{}
	if !p.waits() {
		p.heir = nil
		return
	}
	c.mux.stats.Replaced++
	e.out.clear(e.shared)
	e.fail(now, Close{Reason: ReasonReplaced, Exit: ExitPingTimeout})
	if c.blocked {
		e.end(e.close)
	}
}

// askAgain asks the question anew that has waited for the end of a connection.
func (m *Mux) askAgain(p *probe) {
	if p.waits() {
		p.heir.endpoint.question(m.now)
		m.touch(p.heir)
	}
	p.heir = nil
}

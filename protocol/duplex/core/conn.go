package core

import (
	"math"
	"net/netip"

	"parley/internal/pace"
)

// The calls of a Conn are made now, which is the time of the newest call of the Mux's
// Handle* or Advance.

// Player returns the SID (element id) of the player's own element: the one that AnswerPass gave, else the id of the feed. It is 0
// before that is given.
func (c *Conn) Player() int16 { return c.e.Player() }

// FeedID returns the id that CONN_INIT_REP gave, 0 before: "CONN_INIT_REP's id then names the feed alone".
func (c *Conn) FeedID() int16 { return c.e.player }

// Place puts a client into a scene, of which it sees all elements at first. Call it before the client is told anything of another
// one: from Config.Enter, or the handler of EventJoined at the latest. If the scene was closed, the client is told REFUSED.
func (c *Conn) Place(s *Scene) {
	switch {
	case c.e.state >= StateClosing || s == c.scene:
		return
	case s.closed:
		c.Refuse("the scene was closed")
		return
	case !c.told.began.IsZero() || len(c.told.known) > 0:
		panic("duplex: Place of a client that was told of another scene")
	}
	c.scene.remove(c)
	s.add(c)
}

// MainAddr returns the client's address on main.
func (c *Conn) MainAddr() netip.AddrPort { return c.e.MainAddr() }

// FeedUp reports whether the feed works. Without it, updates go over main.
func (c *Conn) FeedUp() bool { return c.e.FeedUp() }

// Queued returns how many bytes wait to be written to main, including those being written.
func (c *Conn) Queued() int { return c.e.Queued() }

// Stats returns the counters.
func (c *Conn) Stats() Stats { return c.e.Stats() }

// BytesOf returns how many bytes of payload have come from a client over each channel, and how many were sent to it. Those of the
// feed wrap around.
func BytesOf(c *Conn) (mainIn, mainOut uint64, feedIn, feedOut uint32) {
	return c.e.stats.MainInBytes, c.e.stats.MainOutBytes, c.told.feedIn, c.told.feedOut
}

// Joined reports whether the player is, or was, in the game.
func (c *Conn) Joined() bool { return c.e.joined }

// Show makes an element visible to this client from the next Flush on. At first, all elements are visible. The element
// need not exist yet.
func (c *Conn) Show(sid int16) { c.e.view.show(c.scene.elements.slotOf(sid), true) }

// Hide makes an element invisible to this client; see Show.
func (c *Conn) Hide(sid int16) { c.e.view.show(c.scene.elements.slotOf(sid), false) }

// ShowAll makes every element visible to this client from the next Flush on.
func (c *Conn) ShowAll() {
	c.e.view.all, c.e.view.turned = true, true
	clear(c.e.view.except)
}

// HideAll makes every element invisible to this client from the next Flush on, except those shown after this call.
func (c *Conn) HideAll() {
	c.e.view.all, c.e.view.turned = false, true
	clear(c.e.view.except)
}

// Sees reports whether this client may see an element.
func (c *Conn) Sees(sid int16) bool {
	slot, ok := c.scene.elements.slots[sid]
	return ok && c.e.view.sees(slot) || !ok && c.e.view.all
}

// Pace returns how many bytes the tick that begins now may send to this client over both channels, and how many of main the
// client is not known to have. A budget of pace.Unlimited means that the path is not known to be narrow. Call it once a tick,
// before the tick sends anything.
func (c *Conn) Pace() (budget, unacked int) {
	e := &c.e
	queued := e.Queued()
	if c.mux.hooks.Pace == nil {
		return pace.Unlimited, queued
	}
	beside := int(e.feed.bytes)
	e.feed.bytes = 0
	e.view.busy = beside > answerBeside
	budget, unacked, probe := c.mux.hooks.Pace(c.mux.now, c, beside)
	if probe && e.feed.up {
		c.probe()
	}
	if budget != pace.Unlimited {
		budget = max(budget-queued-e.feed.loose.Held(), 0) // what waits goes first
	}
	return budget, unacked + queued
}

// probe sends the shortest message that changes nothing: that an element is gone which there is not. Its SID is one that an element
// may have, as a client may be strict about others. Nothing comes back on the feed, and an acknowledgement of main shows how
// long the way is for both.
func (c *Conn) probe() {
	m := Message{Kind: KindSync, SID: math.MaxInt16, Data: gone}
	r := &c.mux.cfg.rules.elements[FromServer]
	if c.e.state == StateOpen && r.kinds && !r.moments[m.SID] && c.scene.elements.get(m.SID) == nil && c.mux.cfg.rules.check(FromServer, &m) == nil {
		_ = c.e.putMain(&m) // if it fails, the connection ends
		c.mux.touch(c)
	}
}

// Path returns what is known of the path to this client.
func (c *Conn) Path() pace.Estimate {
	if c.mux.hooks.Estimate == nil {
		return pace.Estimate{Budget: pace.Unlimited}
	}
	return c.mux.hooks.Estimate(c)
}

// Choose sets whether the program chooses which changes this client is told, and when: with Tell. It is for a client whose
// path cannot take all of them. Otherwise each Flush sends them all. What the program has not told when it stops to choose it can
// tell then. Else that is told with the next change, or sync of everything.
func (c *Conn) Choose(on bool) { c.e.view.chosen, c.e.view.answers, c.e.view.spread = on, false, 0 }

// Tell sends the present value of an element that this client may see, and returns the bytes that it takes on its way: none
// if the client is told otherwise, as it does not know the element yet, or as the program does not choose and the next Flush will.
func (c *Conn) Tell(sid int16) (bytes int) {
	slot, ok := c.scene.elements.slots[sid]
	if !ok || c.e.state != StateOpen || !c.e.view.known.has(slot) || !c.scene.elements.live.has(slot) || !c.e.view.sees(slot) ||
		!c.e.view.chosen && c.scene.elements.dirty.has(slot) {
		return 0
	}
	bytes = c.e.tellNow(slot, &c.scene.elements.list[slot])
	c.mux.load(c)
	return bytes
}

// Answer has the client's own element, whose SID is Player, told twice with the next Flush that has changed it: that is the answer to what the player
// asked for, and nothing says whether a datagram has arrived. The second time is a few milliseconds later, so that a short burst of loss does not
// take both. It is left out if ticks have so much to tell that the path may be full
// (see answerBeside), and while the program chooses, as it does on a narrow path.
func (c *Conn) Answer() { c.e.view.answers = true }

// Spread sets how many bytes of a sync of all elements may go out before the next call, while the program chooses. It reports
// whether there is such a sync.
func (c *Conn) Spread(bytes int) (syncing bool) {
	v := c.e.view
	if v.spread = int32(bytes); bytes > 0 && (v.running || v.due) {
		c.mux.touch(c)
	}
	return v.running || v.due
}

// Update sends the value of an element to this client alone. The value lasts until Scene.Set sets one for all. Use it only
// for elements that were set with Scene.Set: a sync covers only those, and removes all others from the client. For anything
// else, use a SID among Elements.Moments of the schema. See Endpoint.Update.
func (c *Conn) Update(sid int16, data []byte) error {
	err := c.e.Update(c.mux.now, sid, data)
	c.mux.load(c)
	return err
}

// Sync sends the value of an element, or an event of the game, to this client alone. See Endpoint.Sync.
func (c *Conn) Sync(sid int16, data []byte) error {
	defer c.mux.touch(c)
	return c.e.Sync(c.mux.now, sid, data)
}

// Signal sends a signal of the game. See Endpoint.Signal.
func (c *Conn) Signal(on Channel, code uint8) error {
	defer c.mux.touch(c)
	return c.e.Signal(c.mux.now, on, code)
}

// Query sends a query to this client. See Endpoint.Query.
func (c *Conn) Query(on Channel, code uint8, data []byte) (id uint32, err error) {
	defer c.mux.touch(c)
	return c.e.Query(c.mux.now, on, code, data)
}

// Reply answers a query of this client. See Endpoint.Reply.
func (c *Conn) Reply(id uint32, status uint8, data []byte) error {
	defer c.mux.touch(c)
	return c.e.Reply(c.mux.now, id, status, data)
}

// Refuse sends REFUSED to a client that has just joined, and ends the connection when that is written: "CONN_OK may still
// meet REFUSED (the room has filled)".
func (c *Conn) Refuse(why string) {
	if c.e.state < StateClosing {
		c.mux.stats.Refused++
		c.e.now = c.mux.now
		c.e.refused(why)
	}
	c.mux.touch(c)
}

// Close ends the connection when the queue of main is written. See Endpoint.Close.
func (c *Conn) Close(text string) {
	c.e.Close(c.mux.now, text)
	c.mux.touch(c)
}

package picture

import (
	"errors"
	"math"
	"time"

	"parley/play/message"
	"parley/world"
)

// ErrAway means that there is no connection at the moment.
var ErrAway = errors.New("picture: there is no connection at the moment")

// prediction is what the client computes itself: its own entity, and what its own actions have created. They are drawn at the own tick,
// ahead of the server, between what they are after two ticks.
type prediction struct {
	ready  bool    // the own entity is computed
	tick   uint64  // the own tick: the guess has run the one after it
	at     float64 // and the part of the next, when it was last asked for
	ghosts []ghost // the own entity first
	born   []born
	drawn  []world.ID // in the frame's world
	failed error      // Step has panicked

	slack     place   // by how much an input of this tick has changed where the own body would be
	slackFrom float64 // the part of the tick at which it was made
	turned    bool    // and the own body looks where the input has it at once
}

// ghost is an entity that is drawn as the client computes it.
type ghost struct {
	id       world.ID
	from, to place // after the own tick, and after the next
	was      place // where it was drawn before something changed
	blend    Blend
	there    bool
	drawn    bool // was is set
}

// truth is what the server says of a tick, and of the inputs in it, until the values of that tick have come.
type truth struct {
	tick, number uint64
	since        time.Time
	waits        bool
}

// ready reports whether own ticks are counted.
func (c *Core) ready() bool { return c.voice != nil && c.ahead }

// fate takes what became of inputs. Values of its tick are put before it, or come within valuesWait if they follow.
func (c *Core) fate(now time.Time, f message.Fate, follow bool) {
	tick := c.tickOf(f.Tick)
	newer := !c.begun || tick > c.newest
	c.hears(now, tick)
	c.lead.Heard(now, tick)
	number := unwrapNumber(c.inputs.number, f.Number)
	if newer {
		c.stats.Margin = int(f.Margin)
		c.lead.Margin(now, tick, number, int(f.Margin))
		c.settle(now, true)
		c.pending = truth{tick: tick, number: number, since: now, waits: true}
		if !c.ahead {
			c.ahead = true
			c.mine.tick = own(c.ownAt(now))
		}
	}
	if !follow {
		c.settle(now, true)
	}
}

// unwrapNumber returns the number of an input that was made.
func unwrapNumber(newest uint64, wire uint32) uint64 {
	n := newest&^math.MaxUint32 | uint64(wire)
	if n > newest && n > math.MaxUint32 {
		n -= 1 << 32
	}
	return min(n, newest)
}

// settle takes the truth that waits, if its values have come or are not to come any more.
func (c *Core) settle(now time.Time, complete bool) {
	if p := c.pending; p.waits && !p.since.IsZero() && (complete || now.Sub(p.since) >= valuesWait) {
		c.pending.waits = false
		c.judge(now, p.tick, p.number)
	}
}

// HandleTimeout brings the client to a time: it runs own ticks, and sends what is due with them.
func (c *Core) HandleTimeout(now time.Time) {
	c.settle(now, false)
	c.now = now
	c.next = now.Add(c.period)
	if c.voice == nil {
		return
	}
	if r, ok := c.voice.(*Realm); ok {
		c.next = now.Add(c.period / 4)
		if r.turn(now); !c.ahead {
			return
		}
	}
	if !c.ahead {
		c.call(now)
		return
	}
	at := c.ownAt(now)
	tick := own(at)
	if tick > c.mine.tick+maxRun {
		c.mine.tick = tick - 1
	}
	for c.mine.tick < tick {
		c.mine.tick++
		c.mine.at = max(c.mine.at, float64(c.mine.tick))
		c.mine.slack, c.mine.turned = place{}, false
		c.advance()
	}
	r, isRealm := c.voice.(*Realm)
	if c.sentAt != tick {
		c.sentAt = tick
		if !isRealm { // nothing is lost there
			c.repeat(now)
		}
		if c.inputs.waits || isRealm && r.due(tick+1) {
			_ = c.sendSteer(now, tick+1) // it is sent again
		}
	}
	c.mine.at = at
	if q := &c.inputs; at >= q.probeAt && !isRealm {
		c.probe(now, tick+1)
		// At all parts of a tick, as the margin is a whole number of ticks.
		every := float64(max(1, int(time.Second/c.period)/probesASecond))
		_, part := math.Modf(float64(q.number) * math.Phi)
		q.probeAt = float64(tick) + every + part
	}
	left := c.span(float64(c.mine.tick+1) - at)
	if isRealm {
		left = min(left, c.period/4)
	} else {
		left = min(left, c.span(c.inputs.probeAt-at))
	}
	if c.pending.waits && !isRealm {
		left = min(left, valuesWait)
	}
	c.next = now.Add(max(left, 0) + time.Microsecond) // and not a moment too soon
}

// NextTimeout returns when HandleTimeout is to be called next.
func (c *Core) NextTimeout() (time.Time, bool) { return c.next, !c.next.IsZero() }

// ownAt is the own tick, with its part. It never falls.
func (c *Core) ownAt(now time.Time) float64 {
	if r, ok := c.voice.(*Realm); ok {
		return max(c.mine.at, r.own(now))
	}
	return c.lead.At(now)
}

// own is the tick that a time on the own clock is in.
func own(at float64) uint64 { return uint64(max(0, math.Floor(at))) }

// call sends the first stamp, until the server tells fates.
func (c *Core) call(now time.Time) {
	q := &c.inputs
	if q.waits && c.own != 0 {
		_ = c.sendSteer(now, c.newest+1)
		return
	}
	if q.calls++; q.calls < patientCalls || q.calls%patientCalls == 0 {
		c.probe(now, c.newest+1)
	}
}

// advance runs the tick after the own one.
func (c *Core) advance() {
	if c.mine.ready {
		c.runTo(c.mine.tick + 1)
	}
}

// redo runs the tick after the own one again, as there is a new input for it. The body goes on from where it is drawn, and is where the
// input has it when that tick is over.
func (c *Core) redo(now time.Time) {
	m := &c.mine
	if !m.ready || !c.ready() {
		return
	}
	m.at = c.ownAt(now)
	part := c.part()
	was := c.place(&m.ghosts[0], part, now)
	c.guess.Back(m.tick)
	c.runTo(m.tick + 1)
	if !m.ready {
		return
	}
	m.slack, m.turned = place{}, true
	is := c.place(&m.ghosts[0], part, now)
	if part < 1 {
		m.slack, m.slackFrom = place{x: was.x - is.x, y: was.y - is.y}, part
	}
}

// part is how much of the next tick has passed.
func (c *Core) part() float64 { return max(0, min(c.mine.at-float64(c.mine.tick), 1)) }

// place returns where a ghost is drawn.
func (c *Core) place(g *ghost, part float64, now time.Time) place {
	m := &c.mine
	p := lerp(g.from, g.to, part)
	if g == &m.ghosts[0] && m.turned {
		p.angle = g.to.angle
	}
	if g == &m.ghosts[0] && m.slack != (place{}) {
		left := (1 - part) / (1 - m.slackFrom)
		p.x, p.y = p.x+m.slack.x*left, p.y+m.slack.y*left
	}
	dx, dy, turn := g.blend.At(now)
	return place{p.x + dx, p.y + dy, p.angle + float32(turn)}
}

// judge takes the truth of a tick: the client goes back to it, and does again what it has done since.
func (c *Core) judge(now time.Time, tick, number uint64) {
	c.stats.Fates++
	c.done(number, tick)
	m := &c.mine
	t := c.tracks[c.own]
	if !c.predicts() || t == nil || t.newest(tick) == nil || t.newest(tick).gone || !c.ahead {
		m.ready = false
		return
	}
	part := c.part()
	for i := range m.ghosts {
		g := &m.ghosts[i]
		g.was, g.drawn = c.place(g, part, now), m.ready && g.there
	}
	known := c.guess.Back(tick)
	if known && m.ready {
		c.compare(t.newest(tick))
	}
	if !m.ready {
		c.abandon()
	}
	c.confirm(tick, number)
	c.tell(tick)
	wasReady := m.ready
	m.ready = true
	c.stats.Rerun += max(m.tick+1, tick) - tick
	c.runTo(m.tick + 1)
	if !m.ready || !wasReady {
		return
	}
	for i := range m.ghosts {
		if g := &m.ghosts[i]; g.drawn && g.there {
			c.blend(g, part, now)
		}
	}
}

// compare measures by how much a prediction was wrong.
func (c *Core) compare(s *sample) {
	b := c.guess.World().Body(c.guess.ID(c.own))
	if b == nil || len(s.values) <= world.FieldY || s.doubt&3 != 0 {
		return
	}
	is := s.at()
	off := math.Hypot(b.X-is.x, b.Y-is.y)
	c.stats.Error += off
	if off > .01 {
		c.stats.Wrong++
	}
	if off > .5 {
		c.stats.Large++
	}
}

// blend has a ghost go on from where it was drawn, unless it was far from the truth.
func (c *Core) blend(g *ghost, part float64, now time.Time) {
	is := c.place(g, part, now)
	dx, dy := g.was.x-is.x, g.was.y-is.y
	turn := math.Remainder(float64(g.was.angle-is.angle), 2*math.Pi)
	if dx == 0 && dy == 0 && turn == 0 {
		return
	}
	g.blend.Snap = c.snap(g.id)
	if !g.blend.Add(now, dx, dy, turn) {
		c.stats.Snapped++
	}
}

// snap is the error that is not blended.
func (c *Core) snap(id world.ID) float64 {
	least := 2.
	if k := c.guess.World().KindOf(id); k != nil {
		least = max(least, snapTicks*k.MaxSpeed)
	}
	return least
}

// tell puts what is known of a tick into the guess.
func (c *Core) tell(tick uint64) {
	c.guess.Own(c.own)
	for _, t := range c.list {
		s := t.newest(tick)
		if s == nil || s.gone || c.stale(t, s, tick) {
			continue
		}
		values := s.values
		if s.doubt != 0 && c.guess.World().Exists(c.guess.ID(t.wire)) { // of one that is new all is better than nothing
			c.scratch = append(c.scratch[:0], values...)
			for i := range c.scratch {
				if s.doubt>>i&1 != 0 {
					c.scratch[i] = world.Value{}
				}
			}
			values = c.scratch
		}
		c.guess.Put(t.wire, t.kind, values)
	}
}

// stale reports whether what is known of an entity is older than what the guess has made of it since: it moves, and has not been told with
// this tick yet.
func (c *Core) stale(t *track, s *sample, tick uint64) bool {
	const most = 5 // ticks
	return s.tick < tick && tick-s.tick <= most && t.kind.HasBody && s.norm() > 0 && t.wire != c.own && c.guess.World().Exists(c.guess.ID(t.wire))
}

// runTo runs the guess up to a tick, that one included.
func (c *Core) runTo(last uint64) {
	m := &c.mine
	if c.guess.Tick()+maxRun <= last {
		c.guess.Back(last - 1)
	}
	c.mark(true)
	for c.guess.Tick() <= last {
		tick := c.guess.Tick()
		if tick == last {
			c.mark(true)
		}
		if c.busy() {
			m.ready = false
			return
		}
		acts := c.feed(tick)
		if err := c.guess.Run(); err != nil {
			m.failed, m.ready = err, false
			c.note(Event{Kind: Unpredicted, Text: err.Error()})
			return
		}
		if acts > 0 {
			c.bear(tick)
		}
	}
	c.mark(false)
}

// feed gives the guess the inputs of a tick, and returns how many of them are actions.
func (c *Core) feed(tick uint64) (acts int) {
	c.fed = c.fed[:0]
	for i := range c.inputs.list {
		in := &c.inputs.list[i]
		if in.tick != tick {
			continue
		}
		if in.action == nil {
			if c.guess.Steer(in.steering()) {
				c.fed = append(c.fed, 0)
			}
		} else if c.guess.Act(in.action, in.params[:len(in.action.Fields)], in.shown) {
			c.fed = append(c.fed, in.number)
			acts++
		}
	}
	return acts
}

// mark notes where ghosts are now: after the own tick (from), or after the next.
func (c *Core) mark(from bool) {
	m := &c.mine
	if from {
		n := 0 // those of which it is known what they are stay
		for i := range m.ghosts {
			g := &m.ghosts[i]
			if i == 0 || c.isBorn(g.id) {
				m.ghosts[n] = *g
				n++
			}
		}
		m.ghosts = m.ghosts[:n]
		if n == 0 {
			m.ghosts = append(m.ghosts, ghost{})
		}
		if id := c.guess.ID(c.own); m.ghosts[0].id != id {
			m.ghosts[0] = ghost{id: id}
		}
	} else {
		for i := range m.born {
			if !m.haunts(m.born[i].id) {
				m.ghosts = append(m.ghosts, ghost{id: m.born[i].id})
			}
		}
	}
	w := c.guess.World()
	for i := range m.ghosts {
		g := &m.ghosts[i]
		b := w.Body(g.id)
		if from {
			if g.there = b != nil; g.there {
				g.from = place{b.X, b.Y, b.Angle}
			}
			continue
		}
		was := g.there
		if g.there = w.Exists(g.id); b == nil {
			continue
		}
		if g.to = (place{b.X, b.Y, b.Angle}); !was { // it was born in this tick
			sin, cos := math.Sincos(float64(b.Angle))
			g.from = place{b.X - cos*float64(b.Norm), b.Y - sin*float64(b.Norm), b.Angle}
		}
	}
}

// haunts reports whether an entity is a ghost.
func (m *prediction) haunts(id world.ID) bool {
	for i := range m.ghosts {
		if m.ghosts[i].id == id {
			return true
		}
	}
	return false
}

// clearOwn takes out of the frame what is no ghost any more.
func (c *Core) clearOwn(f *Frame) {
	m := &c.mine
	for _, id := range m.drawn {
		if !m.ready || !m.haunts(id) {
			f.world.Despawn(id)
		}
	}
	m.drawn = m.drawn[:0]
}

// drawOwn puts ghosts into the frame.
func (c *Core) drawOwn(now time.Time, f *Frame) {
	m := &c.mine
	if !m.ready {
		return
	}
	if c.ready() {
		m.at = c.ownAt(now)
	}
	f.OwnTick = m.at
	part := c.part()
	for i := range m.ghosts {
		g := &m.ghosts[i]
		if !g.there || !c.shown.CopyFrom(c.guess, g.id) {
			f.world.Despawn(g.id)
			continue
		}
		m.drawn = append(m.drawn, g.id)
		if b := f.world.Body(g.id); b != nil {
			p := c.place(g, part, now)
			b.X, b.Y, b.Angle = p.x, p.y, p.angle
		}
	}
}

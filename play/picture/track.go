package picture

import (
	"parley/world"
)

// place is where a body is.
type place struct {
	x, y  float64
	angle float32
}

// sample is what an entity was after a tick, or that it was gone.
type sample struct {
	tick   uint64
	gone   bool
	doubt  uint64 // a bit for each field that may be older: see Replica
	values []world.Value
}

// track is what is known of one entity of the server's.
type track struct {
	wire    uint16
	kind    *world.Kind
	index   int      // in Core.list
	first   uint64   // the tick at which it came into sight
	samples []sample // the oldest first, of at most one a tick
	epoch   uint32   // the connection that told of it
	begun   uint32   // and the one that its oldest samples may be of
	ghost   bool     // an own action has created it: see born

	drawn uint64 // the tick of the sample that is in the frame's world, plus one; 0 if the entity is not there
	moved bool   // its body is not where the sample has it
}

// newest returns the last sample of a tick up to one, or nil.
func (t *track) newest(tick uint64) *sample {
	for i := len(t.samples) - 1; i >= 0; i-- {
		if t.samples[i].tick <= tick {
			return &t.samples[i]
		}
	}
	return nil
}

// last returns the newest sample of all.
func (t *track) last() *sample { return &t.samples[len(t.samples)-1] }

// sampleAt returns the sample for a tick, in its order, or nil if it would be older than all that are kept.
func (t *track) sampleAt(tick uint64) *sample {
	i := len(t.samples)
	for i > 0 && t.samples[i-1].tick > tick {
		i--
	}
	if i > 0 && t.samples[i-1].tick == tick {
		return &t.samples[i-1]
	}
	if len(t.samples) >= max(minSamples, min(maxSamples, maxValues/max(1, len(t.kind.Fields)))) {
		if i == 0 {
			return nil
		}
		t.forget(1)
		i--
	}
	if len(t.samples) < cap(t.samples) {
		t.samples = t.samples[:len(t.samples)+1]
	} else {
		t.samples = append(t.samples, sample{})
	}
	spare := t.samples[len(t.samples)-1] // its values' memory is used again
	copy(t.samples[i+1:], t.samples[i:len(t.samples)-1])
	t.samples[i] = sample{tick: tick, values: spare.values[:0]}
	return &t.samples[i]
}

// forget drops the n oldest samples. Their memory stays for others.
func (t *track) forget(n int) {
	for range n {
		first := t.samples[0]
		copy(t.samples, t.samples[1:])
		t.samples[len(t.samples)-1] = first
		t.samples = t.samples[:len(t.samples)-1]
	}
}

// at returns where a body was by a sample.
func (s *sample) at() place {
	return place{s.values[world.FieldX].Float(), s.values[world.FieldY].Float(), float32(s.values[world.FieldAngle].Float())}
}

func (s *sample) norm() float64 { return s.values[world.FieldNorm].Float() }

// put notes what an entity was after a tick. doubt has a bit for each field that may be older than that.
func (c *Core) put(tick uint64, wire uint16, k *world.Kind, values []world.Value, doubt uint64) {
	if wire == 0 || wire > world.MaxEntity || len(values) != len(k.Fields) {
		return
	}
	t := c.tracks[wire]
	if t != nil && t.kind != k { // a number that is given again is another entity's
		c.lose(t)
		t = nil
	}
	if t == nil {
		if t = c.newTrack(wire, k, tick); t == nil {
			return
		}
	}
	t.epoch = c.epoch
	if len(t.samples) == 0 || t.last().gone && t.last().tick < tick {
		t.first, t.ghost = tick, false
		c.forgetName(wire)
	}
	if s := t.sampleAt(tick); s != nil {
		s.gone, s.doubt = false, doubt
		s.values = append(s.values[:0], values...)
	}
}

// forgetName ends what an own action has made of a number: it is that of another entity from now on.
func (c *Core) forgetName(wire uint16) {
	if c.guess.ID(wire) != world.ID(wire) {
		c.guess.Forget(wire)
		c.unname = append(c.unname, wire)
	}
}

// newTrack begins a track, or returns nil if there are too many.
func (c *Core) newTrack(wire uint16, k *world.Kind, tick uint64) *track {
	if len(c.list) >= maxTracks && !c.bury() {
		c.stats.EntitiesLost++
		return nil
	}
	var t *track
	if n := len(c.spare); n > 0 {
		t = c.spare[n-1]
		c.spare = c.spare[:n-1]
	} else {
		t = new(track)
	}
	*t = track{wire: wire, kind: k, index: len(c.list), first: tick, samples: t.samples[:0], begun: c.epoch}
	c.list = append(c.list, t)
	c.tracks[wire] = t
	return t
}

// bury forgets the entities that are gone, as the next frame would: there may be none for long, of a window that is not shown. It reports
// whether there was one.
func (c *Core) bury() (some bool) {
	for i := len(c.list) - 1; i >= 0; i-- {
		if t := c.list[i]; t.last().gone {
			c.lose(t)
			some = true
		}
	}
	return some
}

// gone notes that an entity was gone after a tick.
func (c *Core) gone(tick uint64, wire uint16) {
	t := c.tracks[wire]
	if t == nil {
		return
	}
	if s := t.sampleAt(tick); s != nil {
		s.gone = true
	}
	if t.last().gone {
		if c.guess != nil {
			c.guess.Drop(wire)
		}
		c.unborn(wire)
	}
}

// lose forgets an entity. The next frame is without it.
func (c *Core) lose(t *track) {
	if t.drawn != 0 {
		c.erase = append(c.erase, t.wire)
	}
	if c.guess != nil {
		c.guess.Drop(t.wire)
	}
	c.unborn(t.wire)
	delete(c.tracks, t.wire)
	last := c.list[len(c.list)-1]
	c.list[t.index], last.index = last, t.index
	c.list = c.list[:len(c.list)-1]
	c.spare = append(c.spare, t)
}

package world

import (
	"encoding/binary"
	"math"
)

// A past block of a snapshot has the bodies before a tick, for World.At. The first is of the tick before the oldest that can be rewound to, each
// next one of the tick before. Most bodies are those of the tick after, somewhere else, so each is told by how it differs:
//
//	past  tick v, and for each kind that has a body: rows v, each: rows left free before it v, flags u8 (1 x, 2 y, 4 angle, 8 norm, 16 sprite,
//	      32 it is another entity than in the tick after, and all else is given), and as they say id u64, x f64, y f64, angle f32, norm f32, sprite v
const (
	pastX      = 1
	pastY      = 2
	pastAngle  = 4
	pastNorm   = 8
	pastSprite = 16
	pastOther  = 32
	pastAll    = 2*pastOther - 1
)

// appendPasts writes the states that World.At can be asked for in the ticks that a Sim loaded from the snapshot can run again, beside those
// that it makes itself by running them. It returns how many it wrote.
func (s *Sim) appendPasts(b []byte, oldest *snapshot) (_ []byte, n int) {
	for tick := s.oldest() - 1; ; tick-- {
		m := s.history.at(tick)
		if uint64(n)+1 >= s.history.shown || tick < firstPast || m.tick != tick || !m.saved {
			return b, n
		}
		start := 0
		b, start = openBlock(b, blockPast)
		b = binary.AppendUvarint(b, tick)
		for i, t := range s.world.tables {
			if t.kind.HasBody {
				b = m.before.tables[i].appendBodies(b, t, &oldest.tables[i])
			}
		}
		b = closeBlock(b, start)
		oldest = &m.before
		n++
	}
}

// firstPast is the first tick whose beginning can be asked for: At(0) is now.
const firstPast = 2

func (c *tableCopy) appendBodies(b []byte, t *table, after *tableCopy) []byte {
	b = binary.AppendUvarint(b, uint64(c.count))
	free := 0
	for row := range c.high {
		if c.ids[row] == 0 {
			free++
			continue
		}
		b = binary.AppendUvarint(b, uint64(free))
		free = 0
		body, flags := c.body(t, row), byte(pastAll)
		if row < after.high && after.ids[row] == c.ids[row] {
			then := after.body(t, row)
			flags = bitIf(math.Float64bits(body.X) != math.Float64bits(then.X), pastX) | bitIf(math.Float64bits(body.Y) != math.Float64bits(then.Y), pastY) |
				bitIf(math.Float32bits(body.Angle) != math.Float32bits(then.Angle), pastAngle) |
				bitIf(math.Float32bits(body.Norm) != math.Float32bits(then.Norm), pastNorm) | bitIf(body.Sprite != then.Sprite, pastSprite)
		}
		b = body.appendPast(append(b, flags), flags, c.ids[row])
	}
	return b
}

func (body *Body) appendPast(b []byte, flags byte, id ID) []byte {
	if flags&pastOther != 0 {
		b = binary.LittleEndian.AppendUint64(b, uint64(id))
	}
	if flags&pastX != 0 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(body.X))
	}
	if flags&pastY != 0 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(body.Y))
	}
	if flags&pastAngle != 0 {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(body.Angle))
	}
	if flags&pastNorm != 0 {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(body.Norm))
	}
	if flags&pastSprite != 0 {
		b = binary.AppendUvarint(b, uint64(body.Sprite))
	}
	return b
}

// readPasts takes the past states into history. The world is the oldest state, and none of its ticks has been run yet.
func (s *Sim) readPasts(list []loadedWorld) bool {
	after := &s.history.at(s.floor).before
	s.world.save(after)
	for i, p := range list {
		tick := s.floor - 1 - uint64(i)
		if p.next != tick || tick < firstPast || uint64(i)+1 >= s.history.shown {
			return false
		}
		s.history.open(tick)
		m, r := s.history.at(tick), reading{b: p.body}
		m.before.tables = make([]tableCopy, len(s.world.tables))
		for k, t := range s.world.tables {
			if t.kind.HasBody && !m.before.tables[k].readBodies(&r, t, &after.tables[k]) {
				return false
			}
		}
		if !r.done() {
			return false
		}
		m.saved = true
		after = &m.before
	}
	return true
}

func (c *tableCopy) readBodies(r *reading, t *table, after *tableCopy) bool {
	row := -1
	for range r.count(2) {
		free := r.int(t.kind.rows)
		if row += 1 + free; row >= t.kind.rows {
			return false
		}
		c.grow(t, row+1)
		flags := r.u8()
		switch {
		case flags > pastAll:
			return false
		case flags&pastOther != 0:
			c.ids[row] = ID(r.u64())
		case row < after.high:
			c.ids[row] = after.ids[row]
			*c.body(t, row) = after.body(t, row).seen()
		}
		if c.ids[row] == 0 || r.failed || !c.body(t, row).readPast(r, flags) {
			return false
		}
		c.count++
	}
	return true
}

func (body *Body) readPast(r *reading, flags byte) bool {
	if flags&pastX != 0 {
		body.X = math.Float64frombits(r.u64())
	}
	if flags&pastY != 0 {
		body.Y = math.Float64frombits(r.u64())
	}
	if flags&pastAngle != 0 {
		body.Angle = math.Float32frombits(r.u32())
	}
	if flags&pastNorm != 0 {
		body.Norm = math.Float32frombits(r.u32())
	}
	if flags&pastSprite != 0 {
		body.Sprite = uint16(r.upTo(math.MaxUint16))
	}
	return !r.failed && body.X-body.X == 0 && body.Y-body.Y == 0 && body.Angle-body.Angle == 0 && body.Norm-body.Norm == 0
}

// grow makes room for so many rows, which are then those in use or free.
func (c *tableCopy) grow(t *table, rows int) {
	for len(c.pages) < pagesFor(rows) {
		c.pages = append(c.pages, t.newPage(pageRows))
	}
	c.ids = append(c.ids, make([]ID, rows-c.high)...)
	c.high = rows
}

package main

import (
	"encoding/binary"
	"fmt"
	"math"

	"parley/protocol/stamp"
)

// kindThing is the one kind of entity there is: x f32, y f32, name with its size.
const kindThing = 1

// thing is an entity of the pond.
type thing struct {
	x, y float32
	name string
}

// fields are a thing's values as a record carries them.
func (t *thing) fields() []byte {
	b := binary.LittleEndian.AppendUint32(nil, math.Float32bits(t.x))
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(t.y))
	return append(append(b, byte(len(t.name))), t.name...)
}

// readThing is the other way round. Whatever a server sends, it does not panic.
func readThing(rec *stamp.Record) (t thing, ok bool) {
	b := rec.Fields
	if rec.Kind != kindThing || len(b) < 9 || len(b) != 9+int(b[8]) {
		return thing{}, false
	}
	t.x = math.Float32frombits(binary.LittleEndian.Uint32(b))
	t.y = math.Float32frombits(binary.LittleEndian.Uint32(b[4:]))
	t.name = string(b[9:])
	return t, true
}

// pond is what there is to see. Entity 4 is a ripple where the frog jumped.
type pond struct {
	tick   int
	things map[uint16]*thing
}

func newPond() *pond {
	return &pond{things: map[uint16]*thing{1: {name: "boat"}, 2: {name: "duck", x: 10}, 3: {name: "frog", y: 5}}}
}

// step lets a twentieth of a second pass and returns who changed, came or went.
func (p *pond) step() (changed []uint16) {
	p.tick++
	turn := float64(p.tick) / 100
	p.things[1].x, p.things[1].y = float32(50*math.Cos(turn)), float32(50*math.Sin(turn))
	changed = append(changed, 1)
	if p.tick%5 == 0 {
		p.things[2].x++
		changed = append(changed, 2)
	}
	switch frog := p.things[3]; p.tick % 20 {
	case 10:
		frog.x += 3
		p.things[4] = &thing{frog.x, frog.y, "ripple"}
		changed = append(changed, 3, 4)
	case 19:
		delete(p.things, 4)
		changed = append(changed, 4)
	}
	return changed
}

// record tells of an entity as it is now. "Size 0 means that the entity is gone."
func (p *pond) record(id uint16) stamp.Record {
	rec := stamp.Record{Entity: id, Kind: kindThing}
	if t := p.things[id]; t != nil {
		rec.Fields = t.fields()
	}
	return rec
}

func (t thing) String() string { return fmt.Sprintf("%s at %.1f %.1f", t.name, t.x, t.y) }

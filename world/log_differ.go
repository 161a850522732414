package world

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// A StateDifference is a field that two states do not have the same of.
type StateDifference struct {
	Kind   string // of the entity; empty if it is not one of an entity
	Entity ID
	Field  string // empty if only one of the states has the entity
	Here   string
	There  string
}

// Differing is in what two snapshots of a room differ.
type Differing struct {
	Here, There uint64 // the tick that comes next in each
	List        []StateDifference
	More        int // differences that are not in List
}

// Differ compares the newest states of two snapshots, field by field, and lists the first differences of all, by entity: at most so many. It does not
// run Step, which may be what is wrong. If the states are not of the same tick, they also differ in what has happened between.
func Differ(g Game, here, there []byte, most int) (d Differing, err error) {
	var states [2]*Sim
	for i, b := range [][]byte{here, there} {
		if states[i], err = newest(g, b); err != nil {
			return d, err
		}
	}
	d.Here, d.There = states[0].now, states[1].now
	mine, theirs := states[0].everything(), states[1].everything()
	var keys []fieldKey
	for k := range mine {
		keys = append(keys, k)
	}
	for k := range theirs {
		if _, both := mine[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b fieldKey) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.field, b.field)) })
	for _, k := range keys {
		a, b := mine[k], theirs[k]
		kind := a.kind
		if kind == nil {
			kind = b.kind
		}
		switch x := (StateDifference{Kind: kind.Name, Entity: k.id, Here: a.value, There: b.value}); {
		case a.value == b.value && a.kind != nil && b.kind != nil: // no two entities that ever were have the same ID
		case k.field == wholeEntity:
			x.Here, x.There = cmp.Or(x.Here, "not there"), cmp.Or(x.There, "not there")
			d.add(x, most)
		case a.kind == nil || b.kind == nil: // only one has the entity, which is said
		case k.field == itsOwner:
			x.Field = "owner"
			d.add(x, most)
		default:
			x.Field = kind.field(k.field).Name
			d.add(x, most)
		}
	}
	for _, part := range []struct {
		name string
		of   func(s *Sim) string
	}{
		{"players", func(s *Sim) string { return fmt.Sprintf("%d, hash %016x", s.players, s.world.players.hash()) }},
		{"terrain", func(s *Sim) string { return fmt.Sprintf("hash %016x", s.world.terrain.sum) }},
		{"random source", func(s *Sim) string { return fmt.Sprintf("%016x", s.world.random.state) }},
	} {
		if a, b := part.of(states[0]), part.of(states[1]); a != b {
			d.add(StateDifference{Field: part.name, Here: a, There: b}, most)
		}
	}
	return d, nil
}

func (d *Differing) add(x StateDifference, most int) {
	if len(d.List) >= most {
		d.More++
		return
	}
	d.List = append(d.List, x)
}

// newest reads the newest state of a snapshot, as one of another version of the game: its ticks are not run again.
func newest(g Game, snapshot []byte) (*Sim, error) {
	in, err := NewLogReader(bytes.NewReader(snapshot))
	if err != nil {
		return nil, err
	}
	if g.Version = ""; in.Head().Version == "" {
		g.Version = "another"
	}
	s, _, err := Load(g, bytes.NewReader(snapshot))
	if err != nil {
		return nil, err
	}
	s.replaying = true
	s.publish() // hidden fields too
	return s, nil
}

// Keys of what is no field.
const (
	wholeEntity = -2
	itsOwner    = -1
)

// everything returns all fields of all entities.
func (s *Sim) everything() map[fieldKey]tickChange {
	p, all := &s.public, map[fieldKey]tickChange{}
	for i := range p.high {
		e := &p.slots[i]
		if e.id == 0 {
			continue
		}
		all[fieldKey{e.id, wholeEntity}] = tickChange{e.kind, "there"}
		all[fieldKey{e.id, itsOwner}] = tickChange{e.kind, fmt.Sprint(s.world.Owner(e.id))}
		for f := range len(e.kind.Fields) + len(e.kind.hidden) {
			all[fieldKey{e.id, f}] = tickChange{e.kind, p.recorded(i, f, e.kind.field(f)).show()}
		}
	}
	return all
}

package world

import (
	"reflect"
	"slices"
	"unsafe"
)

// A FactKind is the kind of a fact.
type FactKind uint8

// The kinds of facts.
const (
	FactJoined FactKind = iota + 1 // a player has joined
	FactLeft                       // a player has left
	FactAway                       // a player's connection is gone, and the player stays
	FactBack                       // a player's client is there again
	FactActed                      // an action was done, by a player or by the world itself: As returns its values
	FactSaid                       // a player, or the operator, has said Text
	FactEnded                      // the room has ended with the result Text; it is the last fact of a room
)

var factNames = [...]string{"unset", "joined", "left", "away", "back", "acted", "said", "ended"}

func (k FactKind) String() string { return nameIn(factNames[:], int(k)) }

// A Fact is something that happened at a tick that can no longer be rewound: unlike an Event, it stays true. Whoever runs the
// same log has the same facts, with the same Tick and Index.
type Fact struct {
	Kind   FactKind
	Tick   uint64
	Index  uint32   // in the tick, from 1
	Player PlayerID // 0 for the world itself, and for the operator
	Name   string   // of the player
	Action *Action  // for FactActed
	Text   string   // for FactSaid and FactEnded

	values *params // of FactActed: what Step has reported with Done
}

// As returns the values of an action that was done, if the action is T.
func As[T any](f *Fact) (v T, ok bool) {
	if f.Kind != FactActed || f.Action.typ != reflect.TypeFor[T]() {
		return v, false
	}
	for i := range f.Action.Fields {
		f.Action.Fields[i].setValue(unsafe.Pointer(&v), f.values[i])
	}
	return v, true
}

// Value returns a parameter of an action that was done, by the index of its field. An entity is given by its ID.
func (f *Fact) Value(i int) Value { return f.values[i] }

// A FactPlace is a place in the facts of a log: before the first fact of a tick, or behind the one of an index.
type FactPlace struct {
	Tick  uint64
	Index uint32
}

// Before reports whether p is before q.
func (p FactPlace) Before(q FactPlace) bool {
	return p.Tick < q.Tick || p.Tick == q.Tick && p.Index < q.Index
}

// Watch has facts gathered from now on, or no longer. The first are those of tick Final.
func (s *Sim) Watch(on bool) { s.watched = on }

// Facts returns the facts that the last Advance has made final, in order; none without Watch. The list is the caller's.
func (s *Sim) Facts() []Fact { return s.facts }

// Final returns the oldest tick that can still be rewound: all before it are final.
func (s *Sim) Final() uint64 {
	if s.concluded {
		return s.now
	}
	return s.oldest()
}

// LastFact returns the place behind the newest fact that is final, watched or not. It is in snapshots, so that a reader of
// facts knows whether it has missed some. Its Index is 0 if there is none. known is false if the Sim was loaded from a snapshot
// of an earlier version, which does not say.
func (s *Sim) LastFact() (last FactPlace, known bool) { return s.lastFact, !s.factless }

// Conclude returns the facts of all ticks that were not final yet, and that the room has ended: nothing is submitted any more.
// It is for a room that is closed between two ticks. After the entry of End, Advance does the same.
func (s *Sim) Conclude() []Fact {
	s.facts = nil
	s.conclude()
	return s.facts
}

func (s *Sim) conclude() {
	for tick := s.Final(); tick < s.now; tick++ {
		s.finalize(tick)
	}
	s.concluded = true
	s.endFact()
}

// finalize makes the facts of a tick final.
func (s *Sim) finalize(tick uint64) {
	m := s.history.at(tick)
	n := len(m.words)
	for i := range m.inputs {
		if m.inputs[i].isFact() {
			n++
		}
	}
	if n == 0 {
		return
	}
	s.lastFact, s.factless = FactPlace{tick, uint32(n)}, false
	if s.watched {
		s.facts = m.appendFacts(slices.Grow(s.facts, n), &s.spare)
	}
}

// endFact adds the last fact of a room.
func (s *Sim) endFact() {
	f := Fact{Kind: FactEnded, Tick: max(s.now, 1) - 1, Index: 1, Text: s.log.result}
	if s.lastFact.Tick == f.Tick {
		f.Index += s.lastFact.Index
	}
	s.lastFact, s.factless = FactPlace{f.Tick, f.Index}, false
	if s.watched {
		s.facts = append(s.facts, f)
	}
}

// isFact reports whether an input that has been run is something to tell the world outside.
func (in *Input) isFact() bool { return in.Kind != Steer && in.outcome == Accepted }

// factOf is the kind of fact that an input is.
var factOf = [...]FactKind{Join: FactJoined, Leave: FactLeft, Act: FactActed, Away: FactAway, Back: FactBack}

// appendFacts appends what happened in a tick: inputs in the order of Step, then what was said.
func (m *moment) appendFacts(list []Fact, spare *[]uint64) []Fact {
	m.sort(spare)
	index := uint32(0)
	add := func(f Fact) {
		index++
		f.Tick, f.Index, f.Name = m.tick, index, m.nameOf(f.Player)
		list = append(list, f)
	}
	for _, key := range m.order {
		in := &m.inputs[uint32(key)]
		if !in.isFact() {
			continue
		}
		f := Fact{Kind: factOf[in.Kind], Player: in.Player, Action: in.Action}
		if in.Kind == Act {
			f.values = new(params)
			*f.values = *m.valuesOf(int32(uint32(key)))
		}
		add(f)
	}
	from := 0
	for _, w := range m.words {
		add(Fact{Kind: FactSaid, Player: w.player, Text: string(m.texts[from:w.end])})
		from = w.end
	}
	return list
}

// nameOf returns the name of a player who was there in the tick.
func (m *moment) nameOf(p PlayerID) string {
	list := m.before.players
	i, found := slices.BinarySearchFunc(list, p, func(have Player, p PlayerID) int { return int(have.ID) - int(p) })
	if found {
		return list[i].Name
	}
	for i := range m.inputs {
		if in := &m.inputs[i]; in.Kind == Join && in.Player == p {
			return in.Name
		}
	}
	return ""
}

// A word is a line that was said in a tick. Its text ends at a byte of moment.texts, and begins where the one before ends.
type word struct {
	player PlayerID
	end    int
}

// hear keeps a line until its tick is final.
func (m *moment) hear(p PlayerID, text []byte) {
	m.texts = append(m.texts, text...)
	m.words = append(m.words, word{p, len(m.texts)})
}

// done is what Step has reported of an action, where that is something else than what was asked for.
type done struct {
	index  int32 // of the input
	values params
}

// noteDone keeps what Step has reported of an action until its tick is final: the input itself stays as it was asked for, as the tick may
// be run again.
func (m *moment) noteDone(in, ran *Input) {
	if ran.params != nil && *ran.params != *in.params {
		m.done = append(m.done, done{ran.index, *ran.params})
	}
}

func (m *moment) valuesOf(index int32) *params {
	for i := range m.done {
		if m.done[i].index == index {
			return &m.done[i].values
		}
	}
	return m.inputs[index].params
}

package world

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// Errors of Inject.
var (
	// ErrNoAction means that the game has no such action.
	ErrNoAction = errors.New("world: no such action")
	// ErrTooMany means that the next tick has as many actions of the world itself as it takes.
	ErrTooMany = errors.New("world: too many actions of the world itself wait for the next tick")
)

// Inject submits an action of the world itself at the next tick: Step gets it as an Act of player 0, before those of players. action is a
// struct of Game.Actions. It returns ErrNoAction, ErrTooMany, or ErrLater if the entry of the next tick is full.
func (s *Sim) Inject(action any) error {
	in, err := s.injected(action)
	if err != nil {
		return err
	}
	return s.inject(&in)
}

// injected returns the input that an action of the world itself is. Its values are valid until the next call.
func (s *Sim) injected(action any) (Input, error) {
	a := s.schema.ActionOf(action)
	if a == nil {
		return Input{}, fmt.Errorf("%w: %T: add it to Game.Actions", ErrNoAction, action)
	}
	v := reflect.New(a.typ)
	v.Elem().Set(reflect.ValueOf(action))
	clear(s.asked[:])
	a.values(v.UnsafePointer(), &s.asked, &s.stats)
	return Input{Kind: Act, Tick: s.now, Action: a, params: &s.asked}, nil
}

func (s *Sim) inject(in *Input) error {
	switch {
	case s.Full():
		return ErrLater
	case !s.keep(in):
		return ErrTooMany
	}
	s.log.asked = true
	s.heard(s.log.from)
	if s.log.on {
		s.log.input(in, s.now, 0)
	}
	return nil
}

// ActionOf returns the action whose values a struct has, nil if the game has none of its type.
func (s *Schema) ActionOf(action any) *Action {
	typ := reflect.TypeOf(action)
	for i := range s.Actions {
		if s.Actions[i].typ == typ {
			return s.Action(i)
		}
	}
	return nil
}

// values takes the values of an action from its struct: what cannot be told becomes what can.
func (a *Action) values(from unsafe.Pointer, to *params, stats *Stats) {
	for i := range a.Fields {
		f := &a.Fields[i]
		v := f.value(from)
		if f.Type == Text {
			v.text = fitText(v.text, f.Max)
		} else if !v.Finite() {
			v.bits = 0
			stats.NotFinite++
		}
		to[i] = f.rounded(v)
	}
}

// reinject is Inject as it was noted.
func (s *Sim) reinject(in *Input, putOff uint64) error {
	if in.Kind != Act || in.Tick != s.now || putOff != 0 || !s.keep(in) {
		return damaged("an action of the world itself that is none")
	}
	return nil
}

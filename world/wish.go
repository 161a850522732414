package world

import "encoding/binary"

// A wish is an input on its way to the server that makes the log's entries, where players of a room are on several servers:
//
//	wish    kind u8, flags u8 (1: if it comes too late, it is done then), tick v, and what is an input's own: log_item.go
const wishNow = 1

// AppendSteer appends a steering as a wish, for Submit. The tick is the one that it is for. With now it is done at a later one, should it come
// too late for that.
func (s *Sim) AppendSteer(b []byte, p PlayerID, tick, shown uint64, now bool, st Steering) ([]byte, Reason) {
	if !st.finite() {
		return b, s.refuse(Malformed)
	}
	return appendWish(b, now, &Input{Kind: Steer, Player: p, Tick: tick, Shown: shown, Steer: st}), Accepted
}

// AppendAct appends an action as a wish, for Submit. Entities among the parameters are numbers that the client knows, as in Act.
func (s *Sim) AppendAct(b []byte, p PlayerID, tick, shown uint64, now bool, a *Action, values []Value) ([]byte, Reason) {
	in := Input{Kind: Act, Player: p, Tick: tick, Shown: shown, Action: a, params: &s.asked}
	var ok bool
	if in.temp, ok = a.take(&s.asked, values, s.ByWire); !ok {
		return b, s.refuse(Malformed)
	}
	return appendWish(b, now, &in), Accepted
}

func appendWish(b []byte, now bool, in *Input) []byte {
	b = append(b, byte(in.Kind), bitIf(now, wishNow))
	b = binary.AppendUvarint(b, in.Tick)
	if in.Shown > in.Tick {
		in.Shown = 0 // it says what was on a screen before the input
	}
	return appendInput(b, in)
}

// Submit submits a wish: it is Steer or Act. What cannot be read is Malformed.
func (s *Sim) Submit(wish []byte, tag uint32) Reason {
	if s.Full() {
		return Later
	}
	r := reading{b: wish}
	in := Input{Kind: InputKind(r.u8()), tag: tag}
	flags := r.u8()
	in.Tick = r.upTo(1 << 62)
	if in.Kind != Steer && in.Kind != Act || flags > wishNow {
		return s.refuse(Malformed)
	}
	var list []params
	r.input(&in, s.schema, &list)
	if !r.done() {
		return s.refuse(Malformed)
	}
	if flags&wishNow != 0 {
		in.Tick = max(in.Tick, s.now)
	}
	return s.submit(&in)
}

// AppendInject appends an action of the world itself as a wish, for SubmitInject. See Inject.
func (s *Sim) AppendInject(b []byte, action any) ([]byte, error) {
	in, err := s.injected(action)
	if err != nil {
		return b, err
	}
	return appendWish(b, true, &in), nil
}

// SubmitInject submits what AppendInject has written.
func (s *Sim) SubmitInject(wish []byte) error {
	r := reading{b: wish}
	in := Input{Kind: InputKind(r.u8())}
	r.u8()
	r.upTo(1 << 62)
	if in.Kind != Act {
		return damaged("an action of the world itself that is none")
	}
	var list []params
	if r.input(&in, s.schema, &list); !r.done() || in.Player != 0 {
		return damaged("an action of the world itself that is none")
	}
	in.Tick, in.Shown = s.now, 0
	return s.inject(&in)
}

package world

import "math"

// A recording of version 2 is replayed as one of today. It had other heads, and its inputs in a block of their own:
//
//	head    fingerprint of the schema u64, seed u64, rollback u32, replay u32, reuse u32, ticks a second u32, name
//	inputs  tick u64, then each: kind u8, player u16, tick u64, and by kind
//	          join   name
//	          steer  flags u8 (1 place, 2 angle, 4 norm, 8 the place was told, 16 it is a whole cell), entity u64, x f64, y f64, angle f32, norm f32
//	          act    action u16, temporary number u16, values
//
// A value is 8 bytes. A text or a name is its size u8 and its bytes.

func (h *Head) readOld(in *reading) error {
	h.schema, h.Config.Seed = in.u64(), in.u64()
	c := &h.Config
	for _, v := range [...]*int{&c.MaxRollbackTicks, &c.ReplayBudget, &c.ReuseTicks, &c.TickRate} {
		*v = int(in.u32())
	}
	h.Name, h.states = in.shortText(), true
	if !in.done() {
		return damaged("its head")
	}
	h.noDefaults()
	return nil
}

// oldInputs submits the inputs of a tick as they came.
func (p *player) oldInputs() error {
	s, in := p.sim, &p.in.in
	if in.u64() != s.now {
		return damaged("a tick is missing")
	}
	for in.more() {
		input := p.oldInput(in)
		if in.failed {
			break
		}
		p.report.Inputs++
		if err := s.resubmit(&input, 0); err != nil {
			return err
		}
	}
	if !in.done() {
		return damaged("an input")
	}
	return nil
}

func (p *player) oldInput(r *reading) Input {
	in := Input{Kind: InputKind(r.u8()), Player: PlayerID(r.u16()), Tick: r.u64()}
	switch in.Kind {
	case Join:
		in.Name = r.shortText()
	case Leave:
	case Steer:
		flags := r.u8()
		in.Steer = Steering{
			HasPlace: flags&hasPlace != 0, HasAngle: flags&hasAngle != 0, HasNorm: flags&hasNorm != 0,
			Told: flags&wasTold != 0, Cell: flags&isCell != 0, Entity: ID(r.u64()),
			X: math.Float64frombits(r.u64()), Y: math.Float64frombits(r.u64()),
			Angle: math.Float32frombits(r.u32()), Norm: math.Float32frombits(r.u32()),
		}
		r.failed = r.failed || !in.Steer.finite()
	case Act:
		in.Action = p.sim.schema.Action(int(r.u16()))
		in.temp = r.u16()
		if in.Action == nil {
			r.failed = true
			break
		}
		in.params = new(params)
		for i, f := range in.Action.Fields {
			in.params[i] = r.word(f.Type)
			r.failed = r.failed || !in.params[i].Finite()
		}
	default:
		r.failed = true
	}
	return in
}

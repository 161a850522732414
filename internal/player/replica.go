package player

import (
	"context"
	"time"

	"parley/protocol/replica"
	"parley/world"
)

type replicaVoice struct{ *replica.Client }

func (p *Player) joinReplica(ctx context.Context, addr string) error {
	c, err := replica.Dial(ctx, addr, replica.Config{})
	if err != nil {
		return err
	}
	p.voice = replicaVoice{c}
	r := &replicaReader{Player: p, client: c}
	p.follow(func() {
		for ev := range c.Events() {
			r.read(ev)
		}
	})
	if err := c.Link(); err != nil {
		c.Close(ctx)
		return err
	}
	return nil
}

// replicaReader keeps what the server linked.
type replicaReader struct {
	*Player
	client *replica.Client
	kind   uint16 // of the player's own entity, by link and id
	id     uint8
	known  bool
}

func (r *replicaReader) read(ev replica.Event) {
	switch ev.Kind {
	case replica.EventClosed:
		r.cfg.Notice(Notice{Kind: Ended, Text: ev.Close.Error()})
	case replica.EventReplicated, replica.EventGone:
		r.look()
	case replica.EventMessage:
		switch name := string(ev.Name); {
		case name == "parley.you" && len(ev.Data) == 3:
			r.kind, r.id, r.known = number(ev.Data, world.Order{}), ev.Data[2], true
			r.look()
		case name == "chat" && len(ev.Data) > 0 && len(ev.Data) > int(ev.Data[0]):
			n := int(ev.Data[0])
			r.cfg.Notice(Notice{Kind: Said, Name: string(ev.Data[1 : 1+n]), Text: string(ev.Data[1+n:])})
		case r.cfg.Schema.ActionNamed(name) != nil:
			r.cfg.Notice(Notice{Kind: Acted})
		}
	}
}

// look reads all values that were replicated.
func (r *replicaReader) look() {
	things := map[uint16]Thing{}
	you := uint16(0)
	r.client.Do(func(e *replica.Endpoint) {
		for _, k := range r.cfg.Schema.Kinds {
			link, ok := e.KindLink(k.Name)
			if !ok {
				continue
			}
			for id := range e.Entities(link) {
				n, ok := e.EntityValue(link, id, "entity")
				if !ok {
					continue
				}
				things[uint16(n.Int())] = readThing(e, link, id, k)
				if r.known && link == r.kind && id == r.id {
					you = uint16(n.Int())
				}
			}
		}
	})
	r.learn(func(v *Sight) {
		v.Things = things
		if you != 0 {
			v.You = you
		}
	})
}

func readThing(e *replica.Endpoint, link uint16, id uint8, k *world.Kind) Thing {
	t := Thing{Kind: k.Number}
	for _, f := range []struct {
		name string
		into func(v float64)
	}{
		{"x", func(v float64) { t.X = v }}, {"y", func(v float64) { t.Y = v }},
		{"angle", func(v float64) { t.Angle = float32(v) }}, {"norm", func(v float64) { t.Norm = float32(v) }},
	} {
		if v, ok := e.EntityValue(link, id, f.name); ok {
			f.into(v.Float())
		}
	}
	return t
}

func (v replicaVoice) steer(angle, norm float32) error {
	return v.Send(replica.Ordered, "steer", appendSteering(nil, angle, norm, world.Order{}))
}

func (v replicaVoice) act(a *world.Action, params []world.Value) error {
	return v.Send(replica.Ordered, a.Name, appendParams(nil, params, world.Order{}))
}

func (v replicaVoice) say(_ context.Context, text string) error {
	return v.Send(replica.Ordered, "chat", []byte(text))
}

func (v replicaVoice) close(ctx context.Context) error { return v.Close(ctx) }
func (v replicaVoice) rtt() time.Duration              { return v.RTT() }

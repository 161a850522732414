package bots

import (
	"context"
	"sync/atomic"

	"parley/play/message"
	"parley/protocol/replica"
	"parley/world"
)

type replicaVoice struct{ *ear }

// replicaReader reads what the server linked, which the client keeps: values change with every
// datagram, and few are looked at.
type replicaReader struct {
	*ear
	client *replica.Client
	you    atomic.Pointer[message.Link] // the player's own entity, nil until it is known
}

func newReplicaReader(e *ear) *replicaReader {
	r := &replicaReader{ear: e, client: e.conn.Replica}
	e.voice, e.memory = replicaVoice{e}, r
	return r
}

func (r *replicaReader) read(ev replica.Event) {
	switch ev.Kind {
	case replica.EventReplicated, replica.EventGone:
		r.changed()
	case replica.EventMessage:
		switch name := string(ev.Name); name {
		case message.ReplicaYou:
			if you, ok := message.ParseLink(ev.Data); ok {
				r.you.Store(&you)
				r.changed()
			}
		case message.ReplicaWorld:
			r.enters(message.ParseWorld(ev.Data, message.Little))
		case message.ReplicaTick:
			r.readFate(ev.Data, message.Little)
		case message.ReplicaChat:
			r.hear(message.ParseSaid(ev.Data))
		case message.ReplicaTerrain:
			r.readChunk(message.ParseChunk(ev.Data, message.Little))
		default:
			if a := r.cfg.Schema.ActionNamed(name); a != nil {
				r.watch(message.ParseReplicaDone(a, ev.Data))
			}
		}
	}
}

// changed notes that there is more to see.
func (r *replicaReader) changed() {
	r.learn(func(*Sight) { r.stale = true })
}

// recall reads all values that were replicated.
func (r *replicaReader) recall(v *Sight) {
	you := r.you.Load()
	r.client.Do(func(values *replica.Values) { // of a lost connection, what was known stays
		clear(v.Things)
		for _, k := range r.cfg.Schema.Kinds {
			link, ok := values.KindLink(k.Name)
			if !ok {
				continue
			}
			for id := range values.Entities(link) {
				n, ok := values.EntityValue(link, id, message.ReplicaEntity)
				if !ok {
					continue
				}
				v.Things[uint16(n.Int())] = readThing(values, link, id, k)
				if you != nil && *you == (message.Link{Kind: link, ID: id}) {
					v.You = uint16(n.Int())
				}
			}
		}
	})
}

func (r *replicaReader) own() (t Thing, ok bool) {
	you := r.you.Load()
	if you == nil {
		return t, false
	}
	r.client.Do(func(values *replica.Values) {
		for _, k := range r.cfg.Schema.Kinds {
			if of, linked := values.KindLink(k.Name); linked && of == you.Kind {
				_, ok = values.EntityValue(you.Kind, you.ID, message.ReplicaEntity)
				t = readThing(values, you.Kind, you.ID, k)
			}
		}
	})
	return t, ok
}

func readThing(values *replica.Values, link uint16, id uint8, k *world.Kind) Thing {
	if !k.HasBody {
		return Thing{Kind: k.Number}
	}
	value := func(field int) float64 {
		got, ok := values.EntityValue(link, id, message.VariableName(k, field))
		if !ok { // it came into sight a moment ago, and this is still on its way
			return 0
		}
		v, _ := message.ParseVariable(k, field, got.Data)
		return v.Float()
	}
	return Thing{
		Kind: k.Number, X: value(world.FieldX), Y: value(world.FieldY), Angle: float32(value(world.FieldAngle)), Norm: float32(value(world.FieldNorm)),
	}
}

func (v replicaVoice) steer(angle, norm float32) error {
	return v.send(message.ReplicaSteer, message.AppendSteer(nil, angle, norm, message.Little))
}

func (v replicaVoice) act(a *world.Action, params []world.Value) error {
	return v.send(a.Name, message.AppendParams(nil, a.Fields, params, message.Little))
}

// send sends an input.
func (v replicaVoice) send(name string, data []byte) error {
	if v.cfg.Stamped {
		data = v.stamps.next().AppendTo(data, message.Little)
	}
	return v.conn.Replica.Send(replica.Ordered, name, data)
}

func (v replicaVoice) say(_ context.Context, text string) error { return v.conn.Say(text) }

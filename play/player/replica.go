package player

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"parley/play/message"
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
	p.memory = r
	p.follow(func() {
		for ev := range c.Events() {
			r.read(ev)
		}
	})
	err = showPass(ctx, c, p.cfg.Ticket)
	if err == nil {
		err = c.Link()
	}
	if err != nil {
		c.Close(ctx)
		<-p.done
		return cmp.Or(c.Err(), err) // the server may have said why
	}
	return nil
}

// showPass shows a ticket, if there is one, and waits until the server has it: "link.init follows the acknowledgement of
// the pass".
func showPass(ctx context.Context, c *replica.Client, ticket []byte) error {
	if len(ticket) == 0 {
		return nil
	}
	before := c.Stats().Reliable
	if err := c.SendReserved(replica.Reliable, message.ReplicaPass, ticket); err != nil {
		return err
	}
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		if now := c.Stats().Reliable; now.Accepted > before.Accepted && now.Acked >= now.Accepted {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := c.Err(); err != nil {
			return err
		}
	}
}

// replicaReader reads what the server linked, which the client keeps: values change with every
// datagram, and few are looked at.
type replicaReader struct {
	*Player
	client *replica.Client
	you    atomic.Pointer[message.Link] // the player's own entity, nil until it is known
}

func (r *replicaReader) read(ev replica.Event) {
	switch ev.Kind {
	case replica.EventClosed:
		r.cfg.Notice(Notice{Kind: Ended, Text: ev.Close.Error()})
	case replica.EventReplicated, replica.EventGone:
		r.told()
	case replica.EventMessage:
		switch name := string(ev.Name); name {
		case message.ReplicaYou:
			if you, ok := message.ParseLink(ev.Data); ok {
				r.you.Store(&you)
				r.told()
			}
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

// told notes that there is more to see.
func (r *replicaReader) told() {
	r.learn(func(*Sight) { r.stale = true })
}

// recall reads all values that were replicated.
func (r *replicaReader) recall(v *Sight) {
	clear(v.Things)
	you := r.you.Load()
	r.client.Do(func(values *replica.Values) {
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
	return v.Send(replica.Ordered, message.ReplicaSteer, message.AppendSteer(nil, angle, norm, message.Little))
}

func (v replicaVoice) act(a *world.Action, params []world.Value) error {
	return v.Send(replica.Ordered, a.Name, message.AppendParams(nil, a.Fields, params, message.Little))
}

func (v replicaVoice) say(_ context.Context, text string) error {
	return v.Send(replica.Ordered, message.ReplicaChat, []byte(text))
}

func (v replicaVoice) close(ctx context.Context) error { return v.Close(ctx) }

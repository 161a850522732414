package player

import (
	"cmp"
	"context"
	"encoding/binary"
	"sync/atomic"
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
	if err := c.SendReserved(replica.Reliable, "parley.pass", ticket); err != nil {
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
	you    atomic.Uint32 // the player's own entity: its kind's link and its id, plus one
}

func (r *replicaReader) read(ev replica.Event) {
	switch ev.Kind {
	case replica.EventClosed:
		r.cfg.Notice(Notice{Kind: Ended, Text: ev.Close.Error()})
	case replica.EventReplicated, replica.EventGone:
		r.told()
	case replica.EventMessage:
		switch name := string(ev.Name); {
		case name == "parley.you" && len(ev.Data) == 3:
			r.you.Store(1 + uint32(number(ev.Data, world.Order{}))<<8 + uint32(ev.Data[2]))
			r.told()
		case name == "chat" && len(ev.Data) > 0 && len(ev.Data) > int(ev.Data[0]):
			n := int(ev.Data[0])
			r.cfg.Notice(Notice{Kind: Said, Name: string(ev.Data[1 : 1+n]), Text: string(ev.Data[1+n:])})
		case name == "terrain":
			r.readChunk(ev.Data, binary.LittleEndian)
		case r.cfg.Schema.ActionNamed(name) != nil:
			r.cfg.Notice(Notice{Kind: Acted})
		}
	}
}

// told notes that there is more to see.
func (r *replicaReader) told() {
	r.learn(func(*Sight) { r.stale = true })
}

// yours returns the link and the id of the player's own entity, if it is known.
func (r *replicaReader) yours() (link uint16, id uint8, ok bool) {
	you := r.you.Load()
	return uint16((you - 1) >> 8), uint8(you - 1), you != 0
}

// recall reads all values that were replicated.
func (r *replicaReader) recall(v *Sight) {
	clear(v.Things)
	kind, own, known := r.yours()
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
				v.Things[uint16(n.Int())] = readThing(e, link, id, k)
				if known && link == kind && id == own {
					v.You = uint16(n.Int())
				}
			}
		}
	})
}

func (r *replicaReader) own() (t Thing, ok bool) {
	link, id, known := r.yours()
	if !known {
		return t, false
	}
	r.client.Do(func(e *replica.Endpoint) {
		for _, k := range r.cfg.Schema.Kinds {
			if of, linked := e.KindLink(k.Name); linked && of == link {
				_, ok = e.EntityValue(link, id, "entity")
				t = readThing(e, link, id, k)
			}
		}
	})
	return t, ok
}

func readThing(e *replica.Endpoint, link uint16, id uint8, k *world.Kind) Thing {
	value := func(name string) float64 {
		v, ok := e.EntityValue(link, id, name)
		if !ok { // it came into sight a moment ago, and this is still on its way
			return 0
		}
		return v.Float()
	}
	return Thing{Kind: k.Number, X: value("x"), Y: value("y"), Angle: float32(value("angle")), Norm: float32(value("norm"))}
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

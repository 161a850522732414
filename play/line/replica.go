package line

import (
	"cmp"
	"context"

	"parley/play/message"
	"parley/protocol/replica"
	"parley/protocol/replica/core"
)

func (c *Conn) joinReplica(ctx context.Context, pass []byte) error {
	ctx, err := c.over(ctx)
	if err != nil {
		return err
	}
	x, err := replica.Dial(ctx, c.at.Addr, replica.Config{Pass: pass, Detail: c.line.cfg.Detail})
	if err != nil {
		return err
	}
	c.Replica, c.hang = x, x.Close
	c.run = func() error {
		for ev := range x.Events() {
			c.readReplica(ev)
		}
		return x.Err()
	}
	if err := x.Link(); err != nil {
		x.Close(ctx)
		return cmp.Or(x.Err(), err) // the server may have said why
	}
	return nil
}

func (c *Conn) readReplica(ev replica.Event) {
	if ev.Kind != replica.EventClosed {
		c.hears()
	} else if ev.Close.Reason == core.ReasonPeer {
		c.hear([]byte(message.ServerName), []byte(ev.Close.Text), true)
	}
	if ev.Kind == replica.EventMessage {
		switch string(ev.Name) {
		case message.ReplicaYou:
			c.enter()
		case message.ReplicaSession:
			c.told(message.ParseSession(ev.Data, message.Little))
		case message.ReplicaMoved:
			c.tells(ev.Data)
		case message.ReplicaWorld:
			c.enters(message.ParseWorld(ev.Data, message.Little))
		}
	}
	if c.other == nil {
		c.reader.Replica(ev)
	}
}

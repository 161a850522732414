package client

import (
	"time"

	"parley/play/line"
	"parley/play/message"
	"parley/play/picture"
	"parley/protocol/replica"
)

// listen returns what reads a new connection.
func (c *Client) listen(conn *line.Conn) (r line.Reader) {
	c.lock()
	defer c.unlock()
	c.core.Connected(time.Now())
	switch {
	case conn.Replica != nil:
		r.Replica = reading(c, picture.NewReplica(c.core, sendReplica(conn.Replica)).Read)
	case conn.Relay != nil:
		r.Relay = reading(c, picture.NewRelay(c.core, conn.Relay.Send).Read)
	case conn.Duplex != nil:
		x := conn.Duplex
		r.Duplex = reading(c, picture.NewDuplex(c.core, x.Player(), x.FeedUp(), picture.DuplexSend{Update: x.Update, Sync: x.Sync, Query: conn.Query}).Read)
	case conn.Realm != nil:
		x := conn.Realm
		reader, err := picture.NewRealm(c.core, c.realm, picture.RealmSend{
			Update: x.Update, Act: x.Act, Say: x.Say, Want: x.Want, Temporary: x.Temporary, Tick: x.ServerTickPart, Codec: x.Codec(),
		})
		if err != nil {
			panic("client: a game that was prepared is invalid: " + err.Error())
		}
		r.Realm = reading(c, reader.Read)
	case conn.Stamp != nil:
		r.Stamp = reading(c, picture.NewStamp(c.core).Read)
	}
	c.stir()
	return r
}

// reading gives events to the core.
func reading[E any](c *Client, read func(now time.Time, ev E)) func(E) {
	return func(ev E) {
		now := time.Now()
		c.lock()
		before, _ := c.core.NextTimeout()
		read(now, ev)
		next, ok := c.core.NextTimeout()
		if len(c.kept) > 0 && !c.waits(now) {
			c.catchUp()
		}
		c.unlock()
		if ok && next.Before(before) {
			c.stir()
		}
	}
}

// connection takes what has become of the connection.
func (c *Client) connection(n line.Notice) {
	c.lock()
	defer c.unlock()
	ev := Event{Own: true, Text: n.Text}
	switch n.Kind {
	case line.Going:
		c.going = time.Now().Add(goingTime)
		return
	case line.Away:
		c.name = c.core.Name() // a new connection tells it later
		ev.Kind, ev.Name, c.away = Away, c.name, true
		c.core.Lost(time.Now())
	case line.Back:
		ev.Kind, ev.Name, c.away, c.going = Back, c.name, false, time.Time{}
		c.core.Entered()
		c.catchUp()
	case line.Ended:
		ev.Kind, c.over, c.why = Ended, true, n.Why
		c.core.Over(time.Now())
		c.kept = nil
	}
	c.gather() // what was told before comes before: without a connection the core holds nothing back
	c.note(ev)
	c.stir()
}

// sendReplica sends what the core says. Of its messages one has a name of parley's own.
func sendReplica(c *replica.Client) func(mode replica.Mode, name string, data []byte) error {
	return func(mode replica.Mode, name string, data []byte) error {
		if name == message.ReplicaMembers {
			return c.SendReserved(mode, name, data)
		}
		return c.Send(mode, name, data)
	}
}

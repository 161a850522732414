package line

import (
	"context"

	"parley/play/message"
	"parley/protocol/relay"
)

func (c *Conn) joinRelay(ctx context.Context, pass []byte) error {
	ctx, err := c.over(ctx)
	if err != nil {
		return err
	}
	x, err := relay.Dial(ctx, c.at.Addr, relay.Config{Ticket: pass})
	if err != nil {
		return err
	}
	c.Relay, c.hang = x, x.Close
	c.run = func() error {
		for ev := range x.Events() {
			if ev.Kind == relay.EventPackage && ev.Package.Server && len(ev.Package.Payload) > 0 {
				c.hears()
				c.readRelay(ev)
			}
		}
		return x.Err()
	}
	if len(pass) > 0 { // "nothing else to the server until u8 4 or u8 5 came"
		return nil
	}
	// "An address joins with its first valid package": here I stand.
	return x.Send(relay.SemiOrdered, relay.ToServer, message.AppendSteer([]byte{message.RelaySteer}, 0, 0, message.Big))
}

// readRelay reads a package of the server: what the first byte says.
func (c *Conn) readRelay(ev relay.Event) {
	switch b := ev.Package.Payload[1:]; ev.Package.Payload[0] {
	case message.RelaySaid:
		c.hear(message.ParseSaid(b))
	case message.RelayYou:
		if _, ok := message.ParseRelayYou(b); ok {
			c.enter()
		}
	case message.RelaySession:
		c.told(message.ParseSession(b, message.Big))
	case message.RelayMoved:
		c.tells(b)
	case message.RelayWorld:
		c.enters(message.ParseWorld(b, message.Big))
	case message.RelayRefused:
		c.refused = string(b)
		c.hear([]byte(message.ServerName), b, true)
	}
	if c.other == nil {
		c.reader.Relay(ev)
	}
}

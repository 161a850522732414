package line

import (
	"context"

	"parley/play/message"
	"parley/protocol/stamp"
)

func (c *Conn) joinStamp(ctx context.Context, _ []byte) error {
	x, err := c.dialStamp(ctx, stamp.Config{})
	if err != nil {
		return err
	}
	c.Stamp, c.hang = x, x.Close
	c.run = func() error {
		c.hears()
		c.enter() // a spectator enters with the handshake: there may be nothing to see
		c.sees()
		for ev := range x.Events() {
			if ev.Kind == stamp.EventEntity {
				c.hears()
				if c.other != nil || !c.fits(ev.Data, message.Little) {
					continue
				}
			}
			c.reader.Stamp(ev)
		}
		return x.Err()
	}
	return nil
}

func (c *Conn) dialStamp(ctx context.Context, cfg stamp.Config) (*stamp.Client, error) {
	if c.at.Carrier == "" {
		return stamp.Dial(ctx, c.at.Addr, cfg)
	}
	s, ctx, err := c.session(ctx)
	if err != nil {
		return nil, err
	}
	return stamp.DialOver(ctx, s.Datagrams(), cfg)
}

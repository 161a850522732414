package line

import (
	"context"

	"parley/play/message"
	"parley/protocol/stamp"
)

func (c *Conn) joinStamp(ctx context.Context, _ []byte) error {
	ctx, err := c.over(ctx)
	if err != nil {
		return err
	}
	x, err := stamp.Dial(ctx, c.at.Addr, stamp.Config{})
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

package line

import (
	"context"
	"errors"

	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/duplex"
	"parley/protocol/duplex/core"
)

func (c *Conn) joinDuplex(ctx context.Context, pass []byte) error {
	// A guest shows an empty pass: only clients that showed one are told a session.
	ctx, err := c.over(ctx)
	if err != nil {
		return err
	}
	x, err := duplex.Dial(ctx, c.at.Addr, duplex.Config{Schema: schema.Duplex(c.line.cfg.Schema), Pass: message.AppendSized(nil, pass)})
	if err != nil {
		return c.inWords(err)
	}
	c.Duplex = x
	c.hang = func(ctx context.Context) error {
		_ = x.Signal(duplex.Main, message.DuplexGoodbye) // the end of the stream alone may be that of a process that was killed
		return x.Close(ctx)
	}
	c.run = func() error {
		confirm := newConfirmer(x)
		defer confirm.stop()
		c.hears()
		c.enter()
		for ev := range x.Events() {
			if ev.Kind != duplex.EventClosed {
				c.hears()
				c.readDuplex(ev, confirm)
			}
		}
		return x.Err()
	}
	return nil
}

func (c *Conn) readDuplex(ev duplex.Event, confirm *confirmer) {
	if ev.Kind == duplex.EventSync {
		switch ev.SID {
		case message.DuplexSaid:
			c.hear(message.ParseDuplexSaid(ev.Data))
		case message.DuplexSession:
			if s, ok := message.ParseSession(ev.Data, message.Big); ok {
				c.told(s, ok)
				confirm.session()
			}
		case message.DuplexMoved:
			if text, ok := message.ParseSized(ev.Data); ok {
				c.tells(text)
			}
		case message.DuplexWorld:
			c.enters(message.ParseWorld(ev.Data, message.Big))
		}
	}
	if c.other == nil {
		c.reader.Duplex(ev)
	}
}

// confirmer tells the server that a session was read: "the client confirms with query 68". A goroutine of its own waits for the
// reply, as a query must not wait in the reader of events.
type confirmer struct {
	told chan struct{} // there is a session to confirm
	done chan struct{}
}

func newConfirmer(c *duplex.Client) *confirmer {
	f := &confirmer{make(chan struct{}, 1), make(chan struct{})}
	go func() {
		defer close(f.done)
		for range f.told {
			// If it fails the connection has ended. A server that refuses it holds no place, which the player will be told
			// when it comes back.
			_, _, _ = c.Query(context.Background(), duplex.Main, message.DuplexConfirm, nil)
		}
	}()
	return f
}

// session has the newest session confirmed. Of those that come meanwhile, the last is confirmed.
func (f *confirmer) session() {
	select {
	case f.told <- struct{}{}:
	default:
	}
}

// stop is called when the connection has ended.
func (f *confirmer) stop() {
	close(f.told)
	<-f.done
}

// inWords returns the error of a dial with words for the status of a refused pass: other dialects have the server's own.
func (c *Conn) inWords(err error) error {
	var end duplex.Close
	if !errors.As(err, &end) || end.Reason != core.ReasonRefused {
		return err
	}
	switch {
	case end.Status == statusDenied && len(c.line.cfg.Ticket) > 0:
		end.Text = "the ticket is not valid, or was used"
	case end.Status == statusDenied:
		end.Text = "the room needs a ticket"
	case end.Status == statusFull:
		end.Text = "the game is full"
	case end.Status == statusAbsent && c.Resumes:
		end.Text = "no such session"
	case end.Status == statusAbsent:
		end.Text = "no such room"
	}
	return end
}

package player

import (
	"context"
	"fmt"
	"time"

	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/duplex"
	"parley/world"
)

type duplexVoice struct{ *duplex.Client }

func (l *line) joinDuplex(ctx context.Context, addr string, pass []byte) error {
	// A guest shows an empty pass: only clients that showed one are told a session.
	c, err := duplex.Dial(ctx, addr, duplex.Config{Schema: schema.Duplex(l.cfg.Schema), Pass: message.AppendSized(nil, pass)})
	if err != nil {
		return err
	}
	l.voice = duplexVoice{c}
	l.sight.You = uint16(c.Player())
	l.run = func() error {
		confirm := newConfirmer(c)
		defer confirm.stop()
		l.hears()
		l.enter()
		for ev := range c.Events() {
			if ev.Kind != duplex.EventClosed {
				l.hears()
				l.readDuplex(ev, confirm)
			}
		}
		return c.Err()
	}
	return nil
}

func (l *line) readDuplex(ev duplex.Event, confirm *confirmer) {
	switch {
	case ev.Kind == duplex.EventGone:
		l.learn(func(v *Sight) { delete(v.Things, uint16(ev.SID)) })
	case ev.Kind != duplex.EventSync && ev.Kind != duplex.EventUpdate:
	case ev.SID == message.DuplexSaid:
		l.hear(message.ParseDuplexSaid(ev.Data))
	case ev.SID == message.DuplexDone:
		l.watch(message.ParseDuplexDone(l.cfg.Schema, ev.Data))
	case ev.SID == message.DuplexSession:
		if s, ok := message.ParseSession(ev.Data, message.Big); ok {
			l.told(s, ok)
			confirm.session()
		}
	case ev.SID <= 0: // of what this client does not use
	default:
		if kind, fields, ok := message.ParseElement(ev.Data); ok {
			if k := l.cfg.Schema.Kind(kind); k != nil {
				l.learn(func(v *Sight) { v.put(uint16(ev.SID), k, fields, message.Big) })
			}
		}
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

func (v duplexVoice) steer(angle, norm float32) error {
	return v.Insist(v.Player(), message.AppendSteer(nil, angle, norm, message.Big))
}

func (v duplexVoice) act(a *world.Action, params []world.Value) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := v.ask(ctx, message.DuplexAct, message.AppendAct(nil, a, params, message.Big))
	return err
}

func (v duplexVoice) say(ctx context.Context, text string) error {
	_, err := v.ask(ctx, message.DuplexSay, message.AppendSized(nil, []byte(text)))
	return err
}

// ask waits for the reply to a query.
func (v duplexVoice) ask(ctx context.Context, code uint8, data []byte) ([]byte, error) {
	status, reply, err := v.Query(ctx, duplex.Main, code, data)
	if err == nil && status != message.DuplexOK {
		return nil, fmt.Errorf("%w: %v", ErrRefused, world.Reason(status))
	}
	return reply, err
}

// close says goodbye: the end of the stream alone may be that of a process that was killed.
func (v duplexVoice) close(ctx context.Context) error {
	_ = v.Signal(duplex.Main, message.DuplexGoodbye) // if it fails, the connection has ended
	return v.Close(ctx)
}

package bots

import (
	"context"
	"fmt"
	"time"

	"parley/play/message"
	"parley/protocol/duplex"
	"parley/world"
)

type duplexVoice struct{ *ear }

func (e *ear) readDuplex(ev duplex.Event) {
	switch {
	case ev.Kind == duplex.EventGone:
		e.learn(func(v *Sight) { delete(v.Things, uint16(ev.SID)) })
	case ev.Kind != duplex.EventSync && ev.Kind != duplex.EventUpdate:
	case ev.SID == message.DuplexSaid:
		e.hear(message.ParseDuplexSaid(ev.Data))
	case ev.SID == message.DuplexDone:
		e.watch(message.ParseDuplexDone(e.cfg.Schema, ev.Data))
	case ev.SID == message.DuplexWorld && ev.Kind == duplex.EventSync:
		e.enters(message.ParseWorld(ev.Data, message.Big))
	case ev.SID == message.DuplexTick:
		e.readElement(e.conn.Duplex.Player(), e.readFate(ev.Data, message.Big))
	case ev.SID <= 0: // of what this client does not use
	default:
		e.readElement(ev.SID, ev.Data)
	}
}

func (e *ear) readElement(sid int16, b []byte) {
	if kind, fields, ok := message.ParseElement(b); ok {
		if k := e.cfg.Schema.Kind(kind); k != nil {
			e.learn(func(v *Sight) { v.put(uint16(sid), k, fields, message.Big) })
		}
	}
}

func (v duplexVoice) steer(angle, norm float32) error {
	x := v.conn.Duplex
	if v.cfg.Stamped {
		return x.Insist(message.DuplexSteer, message.AppendDuplexSteer(nil, v.stamps.next(), angle, norm))
	}
	return x.Insist(x.Player(), message.AppendSteer(nil, angle, norm, message.Big))
}

func (v duplexVoice) act(a *world.Action, params []world.Value) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	code, data := uint8(message.DuplexAct), message.AppendAct(nil, a, params, message.Big)
	if v.cfg.Stamped {
		code, data = message.DuplexStamped, message.AppendDuplexAct(nil, a, v.stamps.next(), params)
	}
	_, err := v.ask(ctx, code, data)
	return err
}

func (v duplexVoice) say(ctx context.Context, text string) error {
	_, err := v.ask(ctx, message.DuplexSay, message.AppendSized(nil, []byte(text)))
	return err
}

// ask waits for the reply to a query.
func (v duplexVoice) ask(ctx context.Context, code uint8, data []byte) ([]byte, error) {
	status, reply, err := v.conn.Duplex.Query(ctx, duplex.Main, code, data)
	if err == nil && status != message.DuplexOK {
		return nil, fmt.Errorf("%w: %v", ErrRefused, world.Reason(status))
	}
	return reply, err
}

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

func (p *Player) joinDuplex(ctx context.Context, addr string) error {
	config := duplex.Config{Schema: schema.Duplex(p.cfg.Schema)}
	if len(p.cfg.Ticket) > 0 {
		config.Pass = message.AppendSized(nil, p.cfg.Ticket)
	}
	c, err := duplex.Dial(ctx, addr, config)
	if err != nil {
		return err
	}
	p.voice = duplexVoice{c}
	p.sight.You = uint16(c.Player())
	p.follow(func() {
		for ev := range c.Events() {
			p.readDuplex(ev)
		}
	})
	return nil
}

func (p *Player) readDuplex(ev duplex.Event) {
	switch {
	case ev.Kind == duplex.EventClosed:
		p.cfg.Notice(Notice{Kind: Ended, Text: ev.Close.Error()})
	case ev.Kind == duplex.EventGone:
		p.learn(func(v *Sight) { delete(v.Things, uint16(ev.SID)) })
	case ev.Kind != duplex.EventSync && ev.Kind != duplex.EventUpdate:
	case ev.SID == message.DuplexSaid:
		p.hear(message.ParseDuplexSaid(ev.Data))
	case ev.SID == message.DuplexDone:
		p.watch(message.ParseDuplexDone(p.cfg.Schema, ev.Data))
	default:
		if kind, fields, ok := message.ParseElement(ev.Data); ok {
			if k := p.cfg.Schema.Kind(kind); k != nil {
				p.learn(func(v *Sight) { v.put(uint16(ev.SID), k, fields, message.Big) })
			}
		}
	}
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
		return nil, fmt.Errorf("player: the server refused it: %v", world.Reason(status))
	}
	return reply, err
}

func (v duplexVoice) close(ctx context.Context) error { return v.Close(ctx) }

package player

import (
	"context"
	"fmt"
	"time"

	"parley/play/gateway"
	"parley/protocol/duplex"
	"parley/world"
)

type duplexVoice struct{ *duplex.Client }

// The codes and SIDs of the game server.
const (
	queryAct     = 64
	querySay     = 65
	queryTerrain = 66
	sidSaid      = -1
	sidDone      = -2
)

func (p *Player) joinDuplex(ctx context.Context, addr string) error {
	config := duplex.Config{Schema: gateway.DuplexSchema(p.cfg.Schema)}
	if len(p.cfg.Ticket) > 0 { // query 67: size u16, pass
		config.Pass = append([]byte{byte(len(p.cfg.Ticket) >> 8), byte(len(p.cfg.Ticket))}, p.cfg.Ticket...)
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
	case ev.SID == sidSaid:
		n := int(ev.Data[0])
		p.cfg.Notice(Notice{Kind: Said, Name: string(ev.Data[1 : 1+n]), Text: string(ev.Data[3+n:])})
	case ev.SID == sidDone:
		p.cfg.Notice(Notice{Kind: Acted, Entity: number(ev.Data, bigEndian)})
	default:
		if k := p.cfg.Schema.Kind(int(ev.Data[0])); k != nil {
			p.learn(func(v *Sight) { v.put(uint16(ev.SID), k, ev.Data[1:], bigEndian) })
		}
	}
}

func (v duplexVoice) steer(angle, norm float32) error {
	return v.Update(v.Player(), appendSteering(nil, angle, norm, bigEndian))
}

func (v duplexVoice) act(a *world.Action, params []world.Value) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := v.ask(ctx, queryAct, appendParams([]byte{byte(a.Number >> 8), byte(a.Number)}, params, bigEndian))
	return err
}

func (v duplexVoice) say(ctx context.Context, text string) error {
	_, err := v.ask(ctx, querySay, append([]byte{byte(len(text) >> 8), byte(len(text))}, text...))
	return err
}

// ask waits for the reply to a query.
func (v duplexVoice) ask(ctx context.Context, code uint8, data []byte) ([]byte, error) {
	status, reply, err := v.Query(ctx, duplex.Main, code, data)
	if err == nil && status != 0 {
		return nil, fmt.Errorf("player: the server refused it: %v", world.Reason(status))
	}
	return reply, err
}

func (v duplexVoice) close(ctx context.Context) error { return v.Close(ctx) }
func (v duplexVoice) rtt() time.Duration              { return 0 }

package player

import (
	"context"

	"parley/play/message"
	"parley/protocol/relay"
	"parley/world"
)

type relayVoice struct{ *relay.Client }

func (p *Player) joinRelay(ctx context.Context, addr string) error {
	c, err := relay.Dial(ctx, addr, relay.Config{Ticket: p.cfg.Ticket})
	if err != nil {
		return err
	}
	p.voice = relayVoice{c}
	p.follow(func() {
		for ev := range c.Events() {
			switch {
			case ev.Kind == relay.EventLeft:
				p.cfg.Notice(Notice{Kind: Ended, Text: ev.Close.Error()})
			case ev.Kind == relay.EventPackage && ev.Package.Server && len(ev.Package.Payload) > 0:
				p.readRelay(ev.Package.Payload[0], ev.Package.Payload[1:])
			}
		}
	})
	// "An address joins with its first valid package": here I stand.
	return relayVoice{c}.steer(0, 0)
}

// readRelay reads a payload of the server: what the first byte says.
func (p *Player) readRelay(what byte, b []byte) {
	switch what {
	case message.RelayEntities:
		p.readRecords(b, message.Big)
	case message.RelayDone:
		p.watch(message.ParseRelayDone(p.cfg.Schema, b))
	case message.RelaySaid:
		p.hear(message.ParseSaid(b))
	case message.RelayYou:
		if entity, ok := message.ParseRelayYou(b); ok {
			p.learn(func(v *Sight) { v.You = entity })
		}
	case message.RelayRefused:
		p.hear([]byte(message.ServerName), b, true)
	}
}

func (v relayVoice) steer(angle, norm float32) error {
	return v.Send(relay.SemiOrdered, relay.ToServer, message.AppendSteer([]byte{message.RelaySteer}, angle, norm, message.Big))
}

func (v relayVoice) act(a *world.Action, params []world.Value) error {
	return v.Send(relay.SemiOrdered, relay.ToServer, message.AppendAct([]byte{message.RelayAct}, a, params, message.Big))
}

func (v relayVoice) say(_ context.Context, text string) error {
	return v.Send(relay.SemiOrdered, relay.ToServer, append([]byte{message.RelaySay}, text...))
}

func (v relayVoice) close(ctx context.Context) error { return v.Close(ctx) }

package player

import (
	"context"

	"parley/play/message"
	"parley/protocol/relay"
	"parley/world"
)

type relayVoice struct{ *relay.Client }

func (l *line) joinRelay(ctx context.Context, addr string, pass []byte) error {
	c, err := relay.Dial(ctx, addr, relay.Config{Ticket: pass})
	if err != nil {
		return err
	}
	l.voice = relayVoice{c}
	l.run = func() error {
		for ev := range c.Events() {
			if ev.Kind == relay.EventPackage && ev.Package.Server && len(ev.Package.Payload) > 0 {
				l.hears()
				l.readRelay(ev.Package.Payload[0], ev.Package.Payload[1:])
			}
		}
		return c.Err()
	}
	if len(pass) > 0 { // "nothing else to the server until u8 4 or u8 5 came"
		return nil
	}
	// "An address joins with its first valid package": here I stand.
	return relayVoice{c}.steer(0, 0)
}

// readRelay reads a payload of the server: what the first byte says. What means nothing to this client is left alone.
func (l *line) readRelay(what byte, b []byte) {
	switch what {
	case message.RelayEntities:
		l.readRecords(b, message.Big)
	case message.RelayDone:
		l.watch(message.ParseRelayDone(l.cfg.Schema, b))
	case message.RelaySaid:
		l.hear(message.ParseSaid(b))
	case message.RelayYou:
		if entity, ok := message.ParseRelayYou(b); ok {
			l.enter()
			l.learn(func(v *Sight) { v.You = entity })
		}
	case message.RelaySession:
		l.told(message.ParseSession(b, message.Big))
	case message.RelayRefused:
		l.refused = string(b)
		l.hear([]byte(message.ServerName), b, true)
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

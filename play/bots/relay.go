package bots

import (
	"context"

	"parley/play/message"
	"parley/protocol/relay"
	"parley/world"
)

type relayVoice struct{ *ear }

// readRelay reads a package of the server: what the first byte says. What means nothing to this client is left alone.
func (e *ear) readRelay(ev relay.Event) {
	switch b := ev.Package.Payload[1:]; ev.Package.Payload[0] {
	case message.RelayEntities:
		e.readRecords(b, message.Big)
	case message.RelayTick:
		e.readRecords(e.readFate(b, message.Big), message.Big)
	case message.RelayWorld:
		e.enters(message.ParseWorld(b, message.Big))
	case message.RelayDone:
		e.watch(message.ParseRelayDone(e.cfg.Schema, b))
	case message.RelaySaid:
		e.hear(message.ParseSaid(b))
	case message.RelayYou:
		if entity, ok := message.ParseRelayYou(b); ok {
			e.learn(func(v *Sight) { v.You = entity })
		}
	case message.RelayRefused:
		e.hear([]byte(message.ServerName), b, true)
	}
}

func (v relayVoice) steer(angle, norm float32) error {
	return v.send(message.AppendSteer([]byte{message.RelaySteer}, angle, norm, message.Big))
}

func (v relayVoice) act(a *world.Action, params []world.Value) error {
	return v.send(message.AppendAct([]byte{message.RelayAct}, a, params, message.Big))
}

// send sends an input.
func (v relayVoice) send(data []byte) error {
	if v.cfg.Stamped {
		data = v.stamps.next().AppendTo(data, message.Big)
	}
	return v.conn.Relay.Send(relay.SemiOrdered, relay.ToServer, data)
}

func (v relayVoice) say(_ context.Context, text string) error { return v.conn.Say(text) }

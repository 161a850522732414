package player

import (
	"context"
	"time"

	"parley/protocol/relay"
	"parley/world"
)

type relayVoice struct{ *relay.Client }

var bigEndian = world.Order{Big: true}

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
	switch {
	case what == 0:
		p.readRecords(b, bigEndian)
	case what == 1 && len(b) >= 2:
		p.cfg.Notice(Notice{Kind: Acted, Entity: number(b, bigEndian)})
	case what == 2 && len(b) >= 1 && len(b) > int(b[0]):
		p.cfg.Notice(Notice{Kind: Said, Name: string(b[1 : 1+b[0]]), Text: string(b[1+b[0]:])})
	case what == 3 && len(b) == 2:
		p.learn(func(v *Sight) { v.You = number(b, bigEndian) })
	case what == 5: // the server does not let us in
		p.cfg.Notice(Notice{Kind: Said, Name: "server", Text: string(b)})
	}
}

func (v relayVoice) steer(angle, norm float32) error {
	return v.Send(relay.SemiOrdered, relay.ToServer, appendSteering([]byte{0}, angle, norm, bigEndian))
}

func (v relayVoice) act(a *world.Action, params []world.Value) error {
	return v.Send(relay.SemiOrdered, relay.ToServer, appendParams([]byte{1, byte(a.Number >> 8), byte(a.Number)}, params, bigEndian))
}

func (v relayVoice) say(_ context.Context, text string) error {
	return v.Send(relay.SemiOrdered, relay.ToServer, append([]byte{2}, text...))
}

func (v relayVoice) close(ctx context.Context) error { return v.Close(ctx) }
func (v relayVoice) rtt() time.Duration              { return v.RTT() }

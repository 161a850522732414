package player

import (
	"context"

	"parley/play/message"
	"parley/protocol/stamp"
	"parley/world"
)

type stampVoice struct{ *stamp.Client }

func (l *line) joinStamp(ctx context.Context, addr string, _ []byte) error {
	c, err := stamp.Dial(ctx, addr, stamp.Config{})
	if err != nil {
		return err
	}
	l.voice = stampVoice{c}
	l.run = func() error {
		l.hears()
		l.enter() // a spectator enters with the handshake: there may be nothing to see
		for ev := range c.Events() {
			if ev.Kind == stamp.EventEntity {
				l.hears()
				l.readRecords(ev.Data, message.Little)
			}
		}
		return c.Err()
	}
	return nil
}

func (stampVoice) steer(_, _ float32) error               { return ErrSpectator }
func (stampVoice) act(*world.Action, []world.Value) error { return ErrSpectator }
func (stampVoice) say(context.Context, string) error      { return ErrSpectator }
func (v stampVoice) close(ctx context.Context) error      { return v.Close(ctx) }

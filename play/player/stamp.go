package player

import (
	"context"

	"parley/play/message"
	"parley/protocol/stamp"
	"parley/world"
)

type stampVoice struct{ *stamp.Client }

func (p *Player) joinStamp(ctx context.Context, addr string) error {
	c, err := stamp.Dial(ctx, addr, stamp.Config{})
	if err != nil {
		return err
	}
	p.voice = stampVoice{c}
	p.follow(func() {
		for ev := range c.Events() {
			switch ev.Kind {
			case stamp.EventEntity:
				p.readRecords(ev.Data, message.Little)
			case stamp.EventClosed:
				p.cfg.Notice(Notice{Kind: Ended, Text: ev.Close.Error()})
			}
		}
	})
	return nil
}

func (stampVoice) steer(_, _ float32) error               { return ErrSpectator }
func (stampVoice) act(*world.Action, []world.Value) error { return ErrSpectator }
func (stampVoice) say(context.Context, string) error      { return ErrSpectator }
func (v stampVoice) close(ctx context.Context) error      { return v.Close(ctx) }

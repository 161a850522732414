package bots

import (
	"context"

	"parley/play/message"
	"parley/protocol/stamp"
	"parley/world"
)

type stampVoice struct{}

func (e *ear) readStamp(ev stamp.Event) {
	if ev.Kind == stamp.EventEntity {
		e.readRecords(ev.Data, message.Little)
	}
}

func (stampVoice) steer(_, _ float32) error               { return ErrSpectator }
func (stampVoice) act(*world.Action, []world.Value) error { return ErrSpectator }
func (stampVoice) say(context.Context, string) error      { return ErrSpectator }

package shell

import (
	"context"
	"errors"
	"time"
)

// ErrNoAnswer means that nothing at all came from a server in the time of Answer.
var ErrNoAnswer = errors.New("no answer")

type answerKey struct{}

// Answer returns a context with which a dialect's Dial gives up when nothing at all has come from the server after this time. A
// server that has answered is waited for as long as the context lasts. It is a value of the context, as the dialects differ in
// how they are dialed.
func Answer(ctx context.Context, within time.Duration) context.Context {
	return context.WithValue(ctx, answerKey{}, time.Now().Add(within))
}

// AnswerBy returns when Dial gives up on a server from which nothing has come, zero for never.
func AnswerBy(ctx context.Context) time.Time {
	by, _ := ctx.Value(answerKey{}).(time.Time)
	return by
}

// unanswered returns a channel that ends the wait for a server from which nothing has come, nil for none.
func (c *Client[E]) unanswered(ctx context.Context) (over <-chan time.Time, stop func() bool) {
	by := AnswerBy(ctx)
	if c.cfg.Heard == nil || by.IsZero() {
		return nil, func() bool { return false }
	}
	t := time.NewTimer(time.Until(by))
	return t.C, t.Stop
}

// heard asks the endpoint whether anything has come.
func (c *Client[E]) heard() (some bool) {
	c.Ask(func(time.Time) { some = c.cfg.Heard() })
	return some
}

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrUnavailable means that the store has not answered in time: too few nodes are there, or one is elected to lead. What was wanted may be
// done or not.
var ErrUnavailable = errors.New("cluster: the store does not answer")

// settle tries until the store has answered, the context ends, or callTime is over. What is tried can be done twice.
func (n *Node) settle(ctx context.Context, what string, try func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	select {
	case <-n.ready:
	case <-ctx.Done():
		return fmt.Errorf("%w: %s: too few nodes are there", ErrUnavailable, what)
	}
	for {
		once, end := context.WithTimeout(ctx, appendTime)
		err := try(once)
		end()
		if err == nil {
			return nil
		}
		if errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrConnectionClosed) {
			return fmt.Errorf("cluster: %s: %w", what, err)
		}
		n.count(func(s *Stats) { s.Unanswered++ })
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s: %w", ErrUnavailable, what, err)
		case <-time.After(tryEach):
		}
	}
}

// create makes a key, once in the whole cluster. If it is there it returns the value. The value must be like no other, so that a try is known
// whose answer was lost. A ttl of 0 is for ever.
func (n *Node) create(ctx context.Context, kv jetstream.KeyValue, key string, value []byte, ttl time.Duration) (there []byte, err error) {
	var options []jetstream.KVCreateOpt
	if ttl > 0 {
		options = append(options, jetstream.KeyTTL(ttl))
	}
	err = n.settle(ctx, "make "+key, func(ctx context.Context) error {
		_, err := kv.Create(ctx, key, value, options...)
		if err == nil || !errors.Is(err, jetstream.ErrKeyExists) {
			return err
		}
		e, err := kv.Get(ctx, key)
		if err == nil && !bytes.Equal(e.Value(), value) {
			there = e.Value()
		}
		return err // if it is gone meanwhile, it is made
	})
	return there, err
}

// get reads a key. It returns nil if there is none.
func (n *Node) get(ctx context.Context, kv jetstream.KeyValue, key string) (e jetstream.KeyValueEntry, err error) {
	err = n.settle(ctx, "read "+key, func(ctx context.Context) (err error) {
		if e, err = kv.Get(ctx, key); errors.Is(err, jetstream.ErrKeyNotFound) {
			e, err = nil, nil
		}
		return err
	})
	return e, err
}

// remove removes a key. The mark that says so goes after a while.
func (n *Node) remove(ctx context.Context, kv jetstream.KeyValue, key string) error {
	return n.settle(ctx, "remove "+key, func(ctx context.Context) error { return kv.Purge(ctx, key, jetstream.PurgeTTL(markerTime)) })
}

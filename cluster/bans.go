package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// PutBan keeps a ban under a name, such as its address or account, until a time; zero is for ever. Only the caller reads body.
func (n *Node) PutBan(ctx context.Context, name string, body []byte, until time.Time) error {
	key, err := token(name)
	if err != nil {
		return err
	}
	ttl := time.Duration(0)
	if !until.IsZero() {
		ttl = max(time.Until(until), 0) + spentLonger // whoever reads it looks at its own clock
	}
	return n.settle(ctx, "keep the ban of "+name, func(ctx context.Context) error {
		_, err := n.js.PublishMsg(ctx, putMsg("parley-bans", key, body, ttl))
		return err
	})
}

// DeleteBan removes a ban.
func (n *Node) DeleteBan(ctx context.Context, name string) error {
	key, err := token(name)
	if err != nil {
		return err
	}
	return n.remove(ctx, n.bans, key)
}

// Bans returns all bans that are kept.
func (n *Node) Bans(ctx context.Context) (list map[string][]byte, err error) {
	err = n.settle(ctx, "list bans", func(ctx context.Context) error {
		list = map[string][]byte{}
		w, err := n.bans.WatchAll(ctx, jetstream.IgnoreDeletes())
		if err != nil {
			return err
		}
		defer w.Stop()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case e, ok := <-w.Updates():
				if !ok {
					return errors.New("the list has no end")
				}
				if e == nil {
					return nil
				}
				if name := nameOf(e.Key()); name != "" {
					list[name] = e.Value()
				}
			}
		}
	})
	return list, err
}

// WatchBans calls fn for each ban that holds, and for each that comes or goes, until the node is closed. Calls come one after another, from a
// goroutine of the node.
func (n *Node) WatchBans(fn func(name string, body []byte, there bool)) {
	n.follow("parley-bans", func() jetstream.KeyValue { return n.bans }, func(key string, value []byte, _ uint64) {
		if name := nameOf(key); name != "" {
			fn(name, value, value != nil)
		}
	})
}

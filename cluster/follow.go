package cluster

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// follower follows what a bucket has. The store tells all nodes what it has stored; what was not told is seen by the numbers and read. A
// consumer of NATS would do the same, but it stands still for ten seconds when its server dies.
type follower struct {
	node   *Node
	bucket string
	kv     jetstream.KeyValue
	each   func(key string, value []byte, revision uint64) // value is nil if the key is gone
	held   map[string]*held
	last   uint64 // the newest number that was seen
	whole  bool   // nothing is known to be missing
}

type held struct {
	revision uint64
	gone     bool
	missed   bool // the last list did not have it
}

// follow calls each for what a bucket has, and for what changes, until the node is closed. kv is called when the node is ready.
func (n *Node) follow(bucket string, kv func() jetstream.KeyValue, each func(key string, value []byte, revision uint64)) {
	n.spawn(func() {
		select {
		case <-n.ready:
		case <-n.ctx.Done():
			return
		}
		f := &follower{node: n, bucket: bucket, kv: kv(), each: each, held: map[string]*held{}}
		told := make(chan *nats.Msg, maxTold)
		sub, err := n.conn.ChanSubscribe(toldOf(bucket)+">", told)
		if err != nil { // the connection is closed
			return
		}
		defer sub.Unsubscribe()
		f.run(told)
	})
}

func (f *follower) run(told <-chan *nats.Msg) {
	check := time.NewTicker(checkEach)
	defer check.Stop()
	full := time.Now().Add(checkEach) // the first list may be one of a replica that is behind
	f.list()
	for {
		select {
		case <-f.node.ctx.Done():
			return
		case m := <-told:
			if f.take(m); f.whole {
				continue
			}
		case now := <-check.C:
			if f.whole && now.Before(full) && f.complete() {
				continue
			}
			full = now.Add(listEach)
		}
		f.list()
	}
}

// take takes what the store has told.
func (f *follower) take(m *nats.Msg) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	key, ok := strings.CutPrefix(m.Subject, toldOf(f.bucket))
	if err != nil || !ok {
		return
	}
	if seq > f.last {
		f.whole = f.whole && seq == f.last+1
		f.last = seq
	}
	value := m.Data
	if m.Header.Get("KV-Operation") != "" || m.Header.Get("Nats-Marker-Reason") != "" {
		value = nil
	} else if value == nil {
		value = []byte{}
	}
	f.set(key, value, seq)
}

// set notes what a key has since a revision, and tells it if it is news.
func (f *follower) set(key string, value []byte, revision uint64) {
	h := f.held[key]
	if h == nil {
		h = &held{gone: true}
		f.held[key] = h
	}
	if h.missed = false; revision <= h.revision {
		return
	}
	was := h.gone
	if h.revision, h.gone = revision, value == nil; was && h.gone {
		return
	}
	f.each(key, value, revision)
}

// complete reports whether the store has nothing that was not told.
func (f *follower) complete() bool {
	last, err := f.lastStored()
	return err != nil || last <= f.last // without an answer there is nothing to read either
}

func (f *follower) lastStored() (uint64, error) {
	ctx, cancel := context.WithTimeout(f.node.ctx, appendTime)
	defer cancel()
	s, err := f.node.js.Stream(ctx, "KV_"+f.bucket)
	if err != nil {
		return 0, err
	}
	return s.CachedInfo().State.LastSeq, nil
}

// list reads all that the bucket has. A replica that is behind may answer: a key that is not in one list is gone if it is not in the next.
func (f *follower) list() {
	last, err := f.lastStored()
	if err != nil {
		f.whole = false
		return
	}
	ctx, cancel := context.WithTimeout(f.node.ctx, storeTime)
	defer cancel()
	w, err := f.kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		f.whole = false
		return
	}
	seen := map[string]bool{}
	if err = f.read(ctx, w, seen); err != nil {
		f.node.cfg.Log.Debug("a bucket cannot be read", "bucket", f.bucket, "err", err)
	}
	_ = w.Stop() // it may have ended
	if f.whole = err == nil; err == nil {
		f.last = max(f.last, last)
		f.miss(seen, last)
	}
}

// read takes what the bucket has.
func (f *follower) read(ctx context.Context, w jetstream.KeyWatcher, seen map[string]bool) error {
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
			seen[e.Key()] = true
			value := e.Value()
			if value == nil {
				value = []byte{}
			}
			f.set(e.Key(), value, e.Revision())
		}
	}
}

// miss notes which keys are not in a list of what was there at a time.
func (f *follower) miss(seen map[string]bool, last uint64) {
	for key, h := range f.held {
		switch {
		case seen[key] || h.revision > last:
		case !h.missed:
			h.missed = true
			f.whole = f.whole && h.gone
		default:
			if delete(f.held, key); !h.gone {
				f.each(key, nil, h.revision)
			}
		}
	}
}

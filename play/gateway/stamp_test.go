package gateway

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"parley/internal/patient"
	"parley/protocol/stamp"
)

// stampWatcher is a client and the records that it has.
type stampWatcher struct {
	*stamp.Client
	mu       sync.Mutex
	entities map[uint16][]byte // by number: kind and fields
}

func watchStamp(t *testing.T, d *Stamp) *stampWatcher {
	t.Helper()
	c, err := stamp.Dial(t.Context(), d.Addr().String(), stamp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &stampWatcher{Client: c, entities: map[uint16][]byte{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev := range c.Events() {
			if ev.Kind == stamp.EventEntity {
				w.take(t, ev.Data)
			}
		}
	}()
	t.Cleanup(func() {
		c.Close(context.Background())
		patient.Value(done)
	})
	return w
}

func (w *stampWatcher) take(t *testing.T, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !stamp.CheckRecords(data) {
		t.Errorf("these are no records: %x", data)
		return
	}
	records := stamp.ReadRecords(data)
	for rec := (stamp.Record{}); records.Next(&rec); {
		if len(rec.Fields) == 0 {
			delete(w.entities, rec.Entity)
		} else {
			w.entities[rec.Entity] = append([]byte{rec.Kind}, bytes.Clone(rec.Fields)...)
		}
	}
}

func (w *stampWatcher) sees() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.entities)
}

func TestStampSpectatorsSeeTheWorld(t *testing.T) {
	h := newArena(t)
	d, err := NewStamp(h, StampConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Shutdown(t.Context())
	r, err := NewReplica(h, ReplicaConfig{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Shutdown(t.Context())
	w := watchStamp(t, d)
	a := playReplica(t, r)
	playReplica(t, r)
	until(t, h, "the spectator sees both", func() bool { return w.sees() == 2 })
	if len(h.players) != 2 || h.Stats().Players != 0 && h.Stats().Spectators != 1 {
		t.Errorf("there are %d players", len(h.players))
	}
	a.Close(t.Context())
	until(t, h, "one leaves", func() bool { return w.sees() == 1 })
}

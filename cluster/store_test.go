package cluster

import (
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"parley/cluster/clustertest"
	"parley/internal/patient"
)

// A log keeps its entries, whatever their age: a room that has slept for months goes on.
func TestALogHasNoAge(t *testing.T) {
	t.Parallel()
	n := newNode(t, Config{URLs: []string{clustertest.NATS(t)}})
	patient.Until(t, "the streams of the logs", func() bool {
		for i := range logStreams {
			s := shelf{node: n, key: keyIn(t, uint32(i))}
			stream, err := s.stream()
			if err != nil {
				return false
			}
			if c := stream.CachedInfo().Config; c.MaxAge != 0 || c.MaxMsgs > 0 || c.MaxBytes > 0 || c.MaxMsgsPerSubject > 0 {
				t.Fatalf("%+v", c)
			}
		}
		return true
	})
}

// keyIn returns the key of a room whose log is in a stream.
func keyIn(t *testing.T, number uint32) string {
	for i := range 1000 {
		if key := fmt.Sprint("room-", i); streamOf(key) == number {
			return key
		}
	}
	t.Fatalf("no room is in stream %d", number)
	return ""
}

// The store has lost all entries of a room's log, as streams that had a maximum age did in a room that slept: the room goes on from what was run. The
// log of a room that has ended stays empty.
func TestALogThatTheStoreHasLost(t *testing.T) {
	t.Parallel()
	p := newPlayer(t, Config{Name: "test", URLs: []string{clustertest.NATS(t)}})
	p.ask(5)
	patient.Until(t, "requests", func() bool { return p.done() == 5 })
	s, err := p.room.stream()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context(), jetstream.WithPurgeSubject(p.room.subject())); err != nil {
		t.Fatal(err)
	}
	p.ask(5)
	patient.Until(t, "requests after the loss", func() bool { return p.done() == 10 })
	patient.Until(t, "a snapshot, as those who come now cannot begin with the first entry", func() bool {
		seqs, _, err := p.room.seqs(t.Context())
		return err == nil && seqs != [2]uint64{}
	})
	again := newPlayer(t, Config{Name: "test", URLs: []string{p.node.cfg.URLs[0]}})
	again.ask(1)
	patient.Until(t, "a request of another", func() bool { return again.done() == 1 })
	compare(t, p, again)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ends := &Room{shelf: shelf{node: p.node, name: "ends", key: "ends"}, log: "ends.1", cfg: RoomConfig{Log: "ends.1"}}
	seq, _, _, err := ends.offer(ctx, 0, false, []byte("an entry"))
	if err == nil {
		err = ends.clear(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, taken, none, err := ends.offer(ctx, seq, false, []byte("another")); !taken || !none || err != nil {
		t.Errorf("an append behind one that is gone: %v, %v, %v", taken, none, err)
	}
	if lost, _, err := ends.lost(ctx, seq); lost || err != nil {
		t.Errorf("the log of a room that has ended: lost %v, %v", lost, err)
	}
}

// What NATS says of an append that is repeated while its first try is in process is a refusal: it is offered again soon.
func TestATryInProcessIsARefusal(t *testing.T) {
	for code, want := range map[jetstream.ErrorCode]bool{10071: true, 10164: true, 10158: true, 10077: false} {
		if got := isTaken(fmt.Errorf("publish: %w", &jetstream.APIError{ErrorCode: code})); got != want {
			t.Errorf("error %d: taken %v", code, got)
		}
	}
	if isTaken(nil) || isTaken(context.DeadlineExceeded) {
		t.Error("no answer is a refusal")
	}
}

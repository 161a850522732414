package core

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestABatchHasWhatWaitsInOrder(t *testing.T) {
	var o outbox
	now := time.Unix(1000, 0)
	for i := range 3 {
		if n, err := o.add(now, []byte{byte(i)}); err != nil || n != uint64(i+1) {
			t.Fatalf("request %d: number %d, %v", i, n, err)
		}
	}
	if _, ok := o.take(now, 7); ok {
		t.Error("a batch goes out before it has gathered")
	}
	wantBatch(t, &o, now.Add(gather), 7, 1, 2, 3)
	if _, ok := o.take(now.Add(repeatAsk), 7); ok {
		t.Error("a batch goes out again too soon")
	}
	o.done(1)
	wantBatch(t, &o, now.Add(gather+repeatAsk), 7, 2, 3)
	o.add(now.Add(gather+repeatAsk), []byte{4}) // a new one does not wait for those that were sent
	wantBatch(t, &o, now.Add(2*gather+repeatAsk), 7, 4)
	o.done(4)
	if _, ok := o.take(now.Add(time.Hour), 7); ok || o.bytes != 0 {
		t.Errorf("nothing waits, and a batch goes out, or %d bytes are counted", o.bytes)
	}
}

// A batch is lost, and players go on asking: what it had is sent again all the same, and what came since, soon after repeatAsk. Nothing is sent again
// while the log takes what it is sent.
func TestALostBatchComesAgainWhilePlayersAsk(t *testing.T) {
	for lost := range 20 {
		var o outbox
		x, w := inbox{}, newToy(1000)
		now := time.Unix(1000, 0)
		sent, asked := 0, map[uint64]time.Time{}
		for step := range 400 {
			now = now.Add(5 * time.Millisecond)
			if step < 300 {
				n, _ := o.add(now, []byte("body"))
				asked[n] = now
			}
			if b, ok := o.take(now.Add(gather), 7); ok {
				if sent++; sent != lost+1 {
					readBatch(b, func(node, number uint64, body []byte) { x.put(node, number, w.Done(node), body) })
				}
			}
			if step%10 == 0 { // a tick
				x.give(w)
				w.Seal(int64(step), 1, 0)
				w.Advance()
				for n := range asked {
					if n > w.Done(7) {
						continue
					}
					if took := now.Sub(asked[n]); took > 2*repeatAsk+100*time.Millisecond {
						t.Fatalf("batch %d is lost: request %d is in the log after %v", lost, n, took)
					}
					delete(asked, n)
				}
				o.done(w.Done(7))
			}
		}
		if len(asked) > 0 || o.rounds != 1 {
			t.Errorf("batch %d is lost: %d requests are not in the log; all were sent again %d times", lost, len(asked), o.rounds)
		}
	}
}

func wantBatch(t *testing.T, o *outbox, now time.Time, node uint64, want ...uint64) {
	t.Helper()
	b, ok := o.take(now, node)
	if !ok {
		t.Fatal("no batch")
	}
	var got []uint64
	if _, ok := readBatch(b, func(from, number uint64, _ []byte) {
		if from != node {
			t.Errorf("from node %d, want %d", from, node)
		}
		got = append(got, number)
	}); !ok {
		t.Fatalf("the batch %x is malformed", b)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("requests %v, want %v", got, want)
	}
}

func TestWhatWaitsIsBounded(t *testing.T) {
	var o outbox
	var err error
	n := 0
	for ; err == nil; n++ {
		_, err = o.add(time.Unix(0, 0), nil)
	}
	if !errors.Is(err, ErrBusy) || n != MaxWaiting+1 {
		t.Errorf("after %d requests: %v", n, err)
	}
	o = outbox{}
	if _, err := o.add(time.Unix(0, 0), make([]byte, MaxWaitingBytes+1)); !errors.Is(err, ErrBusy) {
		t.Errorf("a request that is too large: %v", err)
	}
}

func TestTheInboxTakesRequestsWithoutGaps(t *testing.T) {
	var x inbox
	for _, n := range []uint64{6, 4, 5, 5, 8, 6} { // the log has 3
		x.put(1, n, 3, []byte("body"))
	}
	w := newToy(100)
	w.state.done[1] = 3
	x.give(w)
	if w.Done(1) != 6 {
		t.Errorf("the newest that was taken is %d, want 6", w.Done(1))
	}
	for n := range uint64(2 * maxAhead) {
		x.put(2, n+1, 0, []byte("body"))
	}
	if got := len(x.nodes[0].list); got != maxAhead {
		t.Errorf("%d requests of one node wait, want %d", got, maxAhead)
	}
}

// TestBatchesTakeTurns has a node with a thousand requests share an entry with one that has one.
func TestBatchesTakeTurns(t *testing.T) {
	var x inbox
	for n := range uint64(1000) {
		x.put(1, n+1, 0, []byte("body"))
	}
	x.put(2, 1, 0, []byte("body"))
	w := newToy(4)
	x.give(w)
	if w.Done(2) != 1 {
		t.Error("the one request of a node is not in the entry")
	}
	if !x.some() {
		t.Error("nothing waits, though the entry was full")
	}
}

func FuzzBatch(f *testing.F) {
	f.Add(append(make([]byte, 8), 1, 2, 'a', 'b', 3, 0))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		var again []byte
		if _, ok := readBatch(b, func(_, number uint64, body []byte) {
			if again == nil {
				again = bytes.Clone(b[:8])
			}
			again = appendRequest(again, number, body)
		}); ok && again != nil {
			n := 0
			if _, ok := readBatch(again, func(uint64, uint64, []byte) { n++ }); !ok || n == 0 {
				t.Errorf("%x was read, and %x is not", b, again)
			}
		}
	})
}

package shell

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
)

var errClosed, errFull = errors.New("closed"), errors.New("full")

// newOutbox returns an outbox and the channel that its wakes come by.
func newOutbox() (*outbox, chan struct{}) {
	woken := make(chan struct{}, 1)
	return &outbox{errClosed: errClosed, errFull: errFull, wake: func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}}, woken
}

// Many goroutines that send, each numbered messages of all sizes, to a loop that sleeps until
// it is woken and whose endpoint often has no room: each message comes once, those that may
// not pass come in the order of their sender, the bound holds at every moment, and no wake is
// missed, which would hang.
func TestOutboxAgainstManySenders(t *testing.T) {
	const senders = 4
	n := uint32(50_000)
	if testing.Short() {
		n = 10_000
	}
	for _, tt := range []struct {
		name    string
		largest int
		refuses int // one of so many
	}{
		{"small messages", 100, 1 << 30},
		{"small messages, little room", 100, 10},
		{"large messages", 20_000, 5},
		{"some that fill it alone", 2 * MaxOutboxBytes, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := n
			if tt.largest > 1000 {
				n /= 50
			}
			seed := rand.Uint64()
			t.Logf("seed=%d", seed)
			o, woken := newOutbox()
			var wg sync.WaitGroup
			for i := range senders {
				wg.Go(func() { sendNumbered(t, o, uint8(i), n, tt.largest, rand.New(rand.NewPCG(seed, uint64(i)))) })
			}
			done := make(chan struct{})
			go func() {
				patient.Done(wg.Wait)
				close(done)
			}()
			receiveNumbered(t, o, woken, senders*int(n), tt.refuses, rand.New(rand.NewPCG(seed, senders)))
			patient.Value(done)
			if o.held+len(o.filling) != 0 || o.some.Load() {
				t.Errorf("%d bytes are left", o.held+len(o.filling))
			}
		})
	}
}

// sendNumbered sends messages that say who sent them and which they are. Those with an odd
// number may pass.
func sendNumbered(t *testing.T, o *outbox, who uint8, n uint32, largest int, r *rand.Rand) {
	data := make([]byte, 5+largest)
	data[0] = who
	for i := range n {
		binary.LittleEndian.PutUint32(data[1:], i)
		tag := Tag(i % 7)
		if i%2 == 1 {
			tag |= Passing
		}
		size := 5 + r.IntN(largest)*r.IntN(2)
		name := strings.Repeat("n", int(i%3))
		var err error
		if i%5 == 0 {
			err = o.putWait(t.Context(), tag, name, data[:size])
		} else {
			for err = errFull; err == errFull; {
				if err = o.put(tag, name, data[:size]); err == errFull {
					err = o.putWait(t.Context(), tag, name, data[:size])
				}
			}
		}
		if err != nil {
			t.Errorf("message %d of %d: %v", i, who, err)
			return
		}
	}
}

// receiveNumbered is the loop.
func receiveNumbered(t *testing.T, o *outbox, woken <-chan struct{}, n, refuses int, r *rand.Rand) {
	var next [256]uint32
	passed := map[[5]byte]bool{}
	refused := false
	send := func(_ time.Time, m Message) bool {
		o.mu.Lock()
		if held := len(o.taken) - o.at; held+len(o.filling) > MaxOutboxBytes && len(o.filling) > 0 && held > 0 {
			t.Errorf("%d bytes wait", held+len(o.filling))
		}
		o.mu.Unlock()
		if r.IntN(refuses) == 0 {
			refused = true
			return false
		}
		number := binary.LittleEndian.Uint32(m.Data[1:])
		if want := Tag(number % 7); m.Tag&^Passing != want || m.Name != "nn"[:number%3] {
			t.Errorf("message %d has tag %x and name %q", number, m.Tag, m.Name)
		}
		who := m.Data[0]
		switch {
		case m.Tag&Passing != 0:
			key := [5]byte(m.Data)
			if passed[key] {
				t.Errorf("message %d of %d came twice", number, who)
			}
			passed[key] = true
		case number != next[who]:
			t.Errorf("message %d of %d came, want %d", number, who, next[who])
		default:
			next[who] += 2
		}
		n--
		return true
	}
	for n > 0 && !t.Failed() {
		refused = false
		if o.drain(time.Time{}, send); refused {
			continue // an acknowledgement would have come
		}
		if n > 0 {
			patient.Value(woken)
		}
	}
}

func TestOutboxIsBounded(t *testing.T) {
	for _, size := range []int{1, 64, 1000, 100_000, MaxOutboxBytes - outboxHead, 1 << 20} {
		t.Run(fmt.Sprintf("messages of %d bytes", size), func(t *testing.T) {
			o, _ := newOutbox()
			data, taken := make([]byte, size), 0
			for ; ; taken++ {
				if err := o.put(0, "", data); err == errFull {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if want := max(1, MaxOutboxBytes/(size+outboxHead)); taken != want {
				t.Errorf("%d were taken, want %d", taken, want)
			}
			// What the loop has taken and cannot send counts too.
			no := func(time.Time, Message) bool { return false }
			if !o.drain(time.Time{}, no) {
				t.Error("nothing is left though nothing was sent")
			}
			if err := o.put(0, "", data); err != errFull {
				t.Errorf("one more: %v", err)
			}
			got := 0
			if o.drain(time.Time{}, func(time.Time, Message) bool { got++; return true }) || got != taken {
				t.Errorf("%d of %d came", got, taken)
			}
			if err := o.put(0, "", data); err != nil {
				t.Errorf("when all is sent: %v", err)
			}
		})
	}
}

// A message that may pass does not wait behind those that have no room, and comes once.
func TestPassingMessagesPass(t *testing.T) {
	o, _ := newOutbox()
	var got []string
	room := 0
	send := func(_ time.Time, m Message) bool {
		if m.Tag&Passing == 0 {
			if room == 0 {
				return false
			}
			room--
		}
		got = append(got, string(m.Data))
		return true
	}
	put := func(tag Tag, text string) {
		if err := o.put(tag, "name", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(left bool, want ...string) {
		t.Helper()
		got = nil
		if is := o.drain(time.Time{}, send); is != left || !slices.Equal(got, want) {
			t.Fatalf("got %q, more waits: %v; want %q, %v", got, is, want, left)
		}
	}
	put(0, "one")
	put(Passing, "loose")
	put(0, "two")
	wants(true, "loose")
	wants(true)
	put(Passing, "later")
	put(0, "three")
	wants(true, "later")
	room = 1
	wants(true, "one")
	put(Passing, "last")
	room = 2
	wants(false, "two", "three", "last")
	wants(false)
}

// Who waits is told when half of the outbox is free, when its context ends, and when there
// is nothing to wait for any more.
func TestPutWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _ := newOutbox()
		data := make([]byte, 1000)
		for o.put(0, "", data) == nil {
		}
		put := func(ctx context.Context) chan error {
			c := make(chan error, 1)
			go func() { c <- o.putWait(ctx, 0, "", data) }()
			synctest.Wait()
			return c
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := <-put(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		first, second := put(t.Context()), put(t.Context())
		some := func(n int) {
			o.drain(time.Time{}, func(time.Time, Message) bool { n--; return n >= 0 })
			synctest.Wait()
		}
		if some(100); len(first)+len(second) != 0 {
			t.Error("it was told of a little room")
		}
		if some(100); len(first) != 1 || len(second) != 1 {
			t.Error("it was not told of much room")
		}
		for o.put(0, "", data) == nil {
		}
		third := put(t.Context())
		o.close()
		for _, err := range []error{<-third, o.put(0, "", nil), <-put(t.Context())} {
			if err != errClosed {
				t.Errorf("got %v", err)
			}
		}
		if some(1000); o.held+len(o.filling) != 0 {
			t.Error("what was taken before is not sent")
		}
	})
}

func TestDropForgetsAll(t *testing.T) {
	o, _ := newOutbox()
	for range 10 {
		o.put(0, "", make([]byte, 100))
		o.drain(time.Time{}, func(time.Time, Message) bool { return false })
	}
	o.put(0, "", make([]byte, 100))
	o.drop()
	if o.some.Load() || o.held+len(o.filling) != 0 || o.put(0, "", nil) != errClosed {
		t.Errorf("%d bytes are held", o.held+len(o.filling))
	}
	if o.drain(time.Time{}, func(time.Time, Message) bool { t.Error("sent"); return true }) {
		t.Error("something is left")
	}
}

// An outbox that was full once does not hold on to that memory.
func TestOutboxGivesMemoryBack(t *testing.T) {
	o, _ := newOutbox()
	yes := func(time.Time, Message) bool { return true }
	for range 2 {
		for o.put(0, "", make([]byte, 1000)) == nil {
		}
		o.drain(time.Time{}, yes)
	}
	for range 3 * patientTurns {
		o.put(0, "", make([]byte, 1000))
		o.drain(time.Time{}, yes)
	}
	if n := cap(o.taken) + cap(o.filling); n > 2*keptOutboxBytes {
		t.Errorf("it keeps %d bytes", n)
	}
}

func TestOutboxDoesNotAllocate(t *testing.T) {
	o, _ := newOutbox()
	data := make([]byte, 64)
	room := true
	send := func(time.Time, Message) bool { return room }
	turn := func() {
		for i := range Tag(100) {
			if err := o.put(i%3<<7, "name", data); err != nil {
				t.Fatal(err)
			}
		}
		room = !room
		o.drain(time.Time{}, send)
	}
	for range 10 {
		turn()
	}
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations in 100 messages", n)
	}
}

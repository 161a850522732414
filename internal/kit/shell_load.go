package kit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
)

// ShellChurn is T58: after thousands of connections have come and gone, everything is as it was: goroutines, descriptors,
// memory and the server's tables. In memory, where the second that a server doubts a goodbye takes no time; and with real
// sockets, fewer, as they share some 28,000 ports, and one that is used again within that second has to wait.
func ShellChurn(t *testing.T, sh Shell, plain int) {
	n, rounds := Tier(plain, 1000, 1000), 4
	switch {
	case os.Getenv("PARLEY_SOAK") != "":
		rounds = 10
	case testing.Short():
		n = 200
	}
	promise.Keeps(t, "T58", sh.Name, n*rounds)
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			birth, before, after := churned(t, sh.memory(), n, rounds)
			// That is 64 bytes for each connection that came and went. Pools, ours and the runtime's, come and go by some
			// 80 KiB.
			if grown := after.Heap - before.Heap; grown > 256<<10 {
				t.Errorf("the heap has grown by %d bytes", grown)
			}
			// Pools and tables may keep the size that they had, but not the connections, which are thousands of bytes each.
			if grown := after.Heap - birth.Heap; grown > 512<<10+int64(n)*600 {
				t.Errorf("the heap is %d bytes larger than before the first of %d connections", grown, n)
			}
		})
	})
	t.Run("real sockets", func(t *testing.T) { churned(t, sh.kernel(udp.Config{}), n/5, rounds/4) })
}

// churned has n clients come and go, and as many again some rounds, and counts before, after the first time and after the
// last.
func churned(t *testing.T, at place, n, rounds int) (birth, before, after shelltest.Counts) {
	gone := make(chan struct{}, n)
	answer := at.reply(t, "hello")
	s := at.serve(t, Options{}, func(c Conn, ev Event) {
		answer(c, ev)
		if ev.Kind == Ended {
			gone <- struct{}{}
		}
	})
	census := func(most int) shelltest.Counts {
		idle := false
		if err := s.Do(func() { idle = s.Idle() }); err != nil || !idle {
			t.Errorf("the server's tables are idle: %t, %v", idle, err)
		}
		return shelltest.Census(most)
	}
	birth = census(0)
	comeAndGo(t, at, s, n, gone) // so that pools and tables have their size
	before = census(birth.Goroutines)
	for range rounds {
		comeAndGo(t, at, s, n, gone)
	}
	after = census(before.Goroutines)
	t.Logf("birth %+v, before %+v, after %+v", birth, before, after)
	if err := after.Grown(before); err != nil {
		t.Error(err)
	}
	return birth, before, after
}

// comeAndGo has n clients come, hear something, and go, some of them with one word only.
func comeAndGo(t *testing.T, at place, s RunningServer, n int, gone <-chan struct{}) {
	t.Helper()
	const hands = 200
	var wg sync.WaitGroup
	for h := range hands {
		wg.Go(func() {
			for i := h; i < n; i += hands {
				x, err := at.tryDial(t.Context(), t, s.Addr(), Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := at.say(x, "hello"); err != nil {
					t.Error(err)
				}
				for ev := range x.All() {
					if string(ev.Bytes) != "hello" {
						t.Errorf("got %+v", ev)
					}
					break
				}
				ctx := t.Context()
				if i%4 == 0 {
					ctx = shelltest.Ended() // the goodbye goes out once
				}
				if err := x.Close(ctx); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	patient.Done(wg.Wait)
	for range n {
		patient.Value(gone) // a second after its goodbye
	}
}

// Faults is T61: ECONNREFUSED, ENOBUFS, EMSGSIZE, EAGAIN and EPERM, each for one system call in a hundred, at the server
// and at its clients: all connect, what is reliable comes once and in its order, all hear the goodbye, and the server
// lives on. In a dialect whose clients send, they send all, and the server sends it back. A run in memory is of 8 clients
// and as many packets.
func Faults(t *testing.T, sh Shell, runs, packets int) {
	r := Rand(t)
	for name, c := range map[string]udp.Config{"batched": {}, "small batches, without joining": {Batch: 4, NoGSO: true, NoGRO: true}, "plain": {Plain: true}} {
		faulty := sh.kernel(shelltest.Faulty(c, r.Uint64()))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			surviveFaults(t, faulty, 4, min(packets, 100))
		})
	}
	for range runs {
		seed := r.Uint64()
		t.Run(fmt.Sprintf("memory, seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := sh.memory()
				at.Config = shelltest.Faulty(at.Config, seed)
				surviveFaults(t, at, 8, packets)
			})
		})
	}
}

func surviveFaults(t *testing.T, at place, clients, packets int) {
	answer := echo(t)
	s := at.serve(t, Options{}, func(c Conn, ev Event) {
		if answer(c, ev); ev.Kind == Connected && at.sh.Mute {
			if err := at.sayAll(packets, c.Send); err != nil {
				t.Error(err)
			}
		}
	})
	done := make(chan error)
	for range clients {
		go func() { done <- at.takeAll(t, s, packets) }()
	}
	for range clients {
		if err := patient.Value(done); err != nil {
			t.Error(err)
		}
	}
	if st := s.Counts(); st.OutFaults == 0 || st.OutLost == 0 || s.Check() != nil {
		t.Errorf("no fault struck, or %v: %+v", s.Check(), st)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// sizeOf is the size of an ordered packet: up to 1,300 bytes, if the dialect has as large ones.
func (p place) sizeOf(i int) int { return min(4+i%7*(i%7)*(i%7)*6, p.sh.MaxBytes) }

// sayAll sends numbered packets in every mode.
func (p place) sayAll(packets int, send func(Mode, []byte) error) error {
	for i := range packets {
		data := make([]byte, p.sizeOf(i))
		binary.LittleEndian.PutUint32(data, uint32(i))
		for mode, data := range [][]byte{data[:4], data[:4], data} {
			if err := send(Mode(mode), data); err != nil {
				return fmt.Errorf("send: %w", err)
			}
		}
	}
	return nil
}

// takeAll connects and reads until all that is reliable has come.
func (p place) takeAll(t *testing.T, s RunningServer, packets int) error {
	x, err := p.tryDial(t.Context(), t, s.Addr(), Options{})
	if err != nil {
		return err
	}
	defer x.Close(t.Context())
	if !p.sh.Mute {
		if err := p.sayAll(packets, x.Send); err != nil {
			return err
		}
	}
	seen, ordered := [2]map[uint32]bool{{}, {}}, 0
	for ev := range x.All() {
		if ev.Kind != Data {
			return fmt.Errorf("after %d and %d of %d: %+v", len(seen[Reliable]), ordered, packets, ev)
		}
		n := binary.LittleEndian.Uint32(ev.Bytes)
		switch {
		case ev.Mode == Ordered && (int(n) != ordered || len(ev.Bytes) != p.sizeOf(ordered)):
			return fmt.Errorf("ordered packet %d of %d bytes came as number %d", n, len(ev.Bytes), ordered)
		case ev.Mode == Ordered:
			ordered++
		case seen[ev.Mode][n]:
			return fmt.Errorf("packet %d came twice", n)
		default:
			seen[ev.Mode][n] = true
		}
		if ordered == packets && len(seen[Reliable]) == packets {
			break
		}
	}
	return nil
}

// flood fills the way to a client: it sends numbered packets whenever there is room, and counts those that were taken.
type flood struct {
	conn Conn
	sent uint32
}

func (f *flood) fill(mode Mode, size int) {
	for data := make([]byte, size); ; f.sent++ {
		binary.LittleEndian.PutUint32(data, f.sent)
		if err := f.conn.Send(mode, data); err != nil {
			return
		}
	}
}

// Stalls is T11 and T39: while no one reads, what a client holds is bounded and the server feels it; when someone does,
// all that was sent comes, once and in order. All queues together hold at most bound bytes; each event costs extra bytes
// more in the client's queue than its data.
func Stalls(t *testing.T, sh Shell, modes []Mode, sizes []int, bound int64, extra int) {
	promise.Keeps(t, "T11 T39", sh.Name, 1)
	for _, mode := range modes {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("mode %d, packets of %d bytes", mode, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { stall(t, sh.memory(), mode, size, bound, extra) })
			})
		}
	}
}

func stall(t *testing.T, at place, mode Mode, size int, bound int64, extra int) {
	var f flood
	s := at.serve(t, Options{}, func(c Conn, _ Event) { f.conn = c })
	x := at.connect(t, s, Options{})
	fill := func() { f.fill(mode, size) }
	for range 50 { // 5 s of it
		if err := s.Do(fill); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // virtual
	}
	stuck := f.sent
	for range 10 {
		s.Do(fill)
		time.Sleep(100 * time.Millisecond)
	}
	if f.sent != stuck {
		t.Errorf("the server got rid of %d further packets that no one read", f.sent-stuck)
	}
	if held := int64(stuck) * int64(size); held > bound {
		t.Errorf("%d bytes are on their way, more than all bounds together: %d", held, bound)
	}
	if n, b := x.Queued(); n > shell.MaxQueuedEvents || b != int64(n*(size+extra)) || b > shell.MaxQueuedEventBytes+int64(size+extra) {
		t.Errorf("%d events of %d bytes are queued", n, b)
	}
	seen, more := map[uint32]bool{}, 1+20_000/size // it flows again
	defer shelltest.Repeat(10*time.Millisecond, func() { s.Do(fill) })()
	for ev := range x.All() {
		if ev.Kind != Data {
			t.Fatalf("after %d of %d: %+v", len(seen), f.sent, ev)
		}
		n := binary.LittleEndian.Uint32(ev.Bytes)
		if seen[n] || len(ev.Bytes) != size || mode == Ordered && int(n) != len(seen) {
			t.Fatalf("got packet %d of %d bytes as number %d", n, len(ev.Bytes), len(seen))
		}
		if seen[n] = true; len(seen) >= int(stuck)+more {
			break
		}
	}
	if n := s.Counts().Conns; n != 1 {
		t.Errorf("%d connections", n)
	}
}

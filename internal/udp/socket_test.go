package udp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/internal/datagram"
	"parley/internal/patient"
)

func TestDatagramsArriveOnceWholeAndInOrder(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		a, b := p.open(t, Config{}), p.open(t, Config{})
		in := a.NewRecvBatch()
		eachSeed(t, 12, func(t *testing.T, r *rand.Rand) {
			want := randomDatagrams(r, 1+r.IntN(200))
			send(t, b, p.addr(a), want...)
			wantData(t, collect(t, a, in, len(want)), want)
		})
		checkSums(t, a.Stats(), b.Stats())
	})
}

// randomDatagrams returns runs of datagrams of one size, as those that GSO
// joins are, with shorter, longer and empty ones between.
func randomDatagrams(r *rand.Rand, n int) [][]byte {
	var all [][]byte
	for len(all) < n {
		size, run := r.IntN(1500), 1
		switch r.IntN(4) {
		case 0:
			run = 1 + r.IntN(80)
		case 1:
			size, run = r.IntN(4), 1+r.IntN(8)
		}
		for range run {
			d := make([]byte, size+8)
			for i := 0; i < size; i += 8 {
				binary.LittleEndian.PutUint64(d[i:], r.Uint64())
			}
			all = append(all, d[:size])
		}
	}
	return all[:n]
}

// checkSums holds the laws of Stats for two sockets of which b sent to a.
func checkSums(t *testing.T, a, b datagram.Stats) {
	t.Helper()
	if a.InDatagrams+a.InTruncated+a.InDropped != b.OutDatagrams {
		t.Errorf("in %d + truncated %d + dropped %d != out %d", a.InDatagrams, a.InTruncated, a.InDropped, b.OutDatagrams)
	}
	if a.InTruncated == 0 && a.InDropped == 0 && a.InBytes != b.OutBytes {
		t.Errorf("bytes in %d != bytes out %d", a.InBytes, b.OutBytes)
	}
	if b.OutLost != 0 || b.OutFaults.Total() != 0 || a.InFaults.Total() != 0 {
		t.Errorf("lost %d, faults out %v, in %v, want none", b.OutLost, b.OutFaults, a.InFaults)
	}
}

func TestSizesAtTheEdges(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		a, b := p.open(t, Config{}), p.open(t, Config{})
		var want [][]byte
		for _, size := range []int{0, 1, 0, 0, 2, 1471, 1472, 1473, 9000, 32753, 32754, MaxPayload - 1, MaxPayload, MaxPayload, 0, 3} {
			want = append(want, bytes.Repeat([]byte{byte(size + 1)}, size))
		}
		send(t, b, p.addr(a), want...)
		wantData(t, collect(t, a, a.NewRecvBatch(), len(want)), want)
		checkSums(t, a.Stats(), b.Stats())
	})
}

// Neighbours of one size that are too many or too large for one joined message
// leave in several, without a refusal.
func TestLongAndLargeRunsOfOneSize(t *testing.T) {
	for _, tt := range []struct{ size, count int }{{1, 300}, {64, 200}, {20000, 7}, {32754, 4}, {MaxPayload, 3}} {
		t.Run(fmt.Sprintf("%d of %d bytes", tt.count, tt.size), func(t *testing.T) {
			eachPlace(t, func(t *testing.T, p *place) {
				a, b := p.open(t, Config{}), p.open(t, Config{})
				var want [][]byte
				for i := range tt.count {
					want = append(want, bytes.Repeat([]byte{byte(i + 1)}, tt.size))
				}
				send(t, b, p.addr(a), want...)
				wantData(t, collect(t, a, a.NewRecvBatch(), len(want)), want)
				checkSums(t, a.Stats(), b.Stats())
			})
		})
	}
}

func TestADatagramLargerThanTheLimitIsCountedAndNotDelivered(t *testing.T) {
	for _, tt := range []struct {
		name      string
		sizes     []int
		truncated uint64
	}{
		{"a large one between small ones", []int{100, 101, 5, 5000, 0, 100}, 2},
		{"a run of large ones", []int{7, 300, 300, 300, 300, 8}, 4},
		{"a run of large ones with a short tail", []int{7, 300, 300, 300, 40, 8}, 3},
		{"a run of large ones with a large tail", []int{7, 300, 300, 101, 8}, 3},
		{"only large ones, then one that fits", []int{101, 102, 103, 104, 1}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachPlace(t, func(t *testing.T, p *place) {
				a, b := p.open(t, Config{MaxDatagram: 100}), p.open(t, Config{})
				var all, want [][]byte
				for i, size := range tt.sizes {
					d := bytes.Repeat([]byte{byte(i + 1)}, size)
					all = append(all, d)
					if size <= 100 {
						want = append(want, d)
					}
				}
				send(t, b, p.addr(a), all...)
				wantData(t, collect(t, a, a.NewRecvBatch(), len(want)), want)
				if got := a.Stats().InTruncated; got != tt.truncated {
					t.Errorf("truncated %d, want %d", got, tt.truncated)
				}
				checkSums(t, a.Stats(), b.Stats())
			})
		})
	}
}

func TestTheSenderIsReportedInCanonicalFormAndCanBeAnswered(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		a, b := p.open(t, Config{}), p.open(t, Config{})
		send(t, b, p.addr(a), []byte("ping"))
		m := collect(t, a, a.NewRecvBatch(), 1)[0]
		if want := Canonical(p.addr(b)); m.from != want {
			t.Errorf("from %v, want %v", m.from, want)
		}
		if m.from.Addr().Is4In6() {
			t.Errorf("from %v is 4-in-6", m.from)
		}
		send(t, a, m.from, []byte("pong"))
		m = collect(t, b, b.NewRecvBatch(), 1)[0]
		if want := Canonical(p.addr(a)); m.from != want || string(m.data) != "pong" {
			t.Errorf("answer %q from %v, want pong from %v", m.data, m.from, want)
		}
	})
}

func TestABadDestinationInABatchDoesNotKeepTheOthers(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		a, b := p.open(t, Config{}), p.open(t, Config{})
		bad := []netip.AddrPort{
			{}, // no address at all
			netip.AddrPortFrom(p.addr(a).Addr(), 0),
			netip.MustParseAddrPort("[fe80::1]:9"), // link-local without its interface
			netip.MustParseAddrPort("[fe80::1%nosuch0]:9"),
		}
		switch p.listen {
		case "127.0.0.1:0":
			bad = append(bad, netip.MustParseAddrPort("[::1]:9"))
		case "[::1]:0":
			bad = append(bad, netip.MustParseAddrPort("127.0.0.1:9"))
		}
		out := b.NewSendBatch()
		var want [][]byte
		for i := range 40 {
			d := []byte(fmt.Sprintf("datagram %02d", i))
			want = append(want, d)
			out.Append(d, p.addr(a))
			out.Append(d, bad[i%len(bad)])
			out.Append(d, bad[i%len(bad)])
		}
		if err := b.Write(out); err != nil {
			t.Fatal(err)
		}
		wantData(t, collect(t, a, a.NewRecvBatch(), len(want)), want)
		s := b.Stats()
		if s.OutDatagrams != 40 || s.OutLost != 80 {
			t.Errorf("sent %d and lost %d, want 40 and 80; faults %v", s.OutDatagrams, s.OutLost, s.OutFaults)
		}
		if s.OutFaults.Total() < 80 {
			t.Errorf("%d faults for 80 lost datagrams: %v", s.OutFaults.Total(), s.OutFaults)
		}
		if gso, _ := b.Offload(); p.name == "batched" && !gso {
			t.Error("bad addresses switched GSO off")
		}
	})
}

func TestReadHonoursItsDeadline(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		a, b := p.open(t, Config{}), p.open(t, Config{})
		in := a.NewRecvBatch()
		if err := a.Read(in, time.Unix(1, 0)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a look at an empty socket: %v", err)
		}
		// The second wait is longer than the first, the third shorter: the
		// armed deadline must follow both ways.
		for _, wait := range []time.Duration{2, 5, 1} {
			until := time.Now().Add(wait * time.Millisecond)
			if err := a.Read(in, until); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("read until %v: %v", wait, err)
			}
			if now := time.Now(); now.Before(until) {
				t.Errorf("read returned %v early", until.Sub(now))
			}
		}
		send(t, b, p.addr(a), []byte("x"))
		if err := a.Read(in, time.Now().Add(time.Hour)); err != nil || in.Len() != 1 {
			t.Errorf("read with a far deadline: %d datagrams, %v", in.Len(), err)
		}
		send(t, b, p.addr(a), []byte("x"))
		if err := a.Read(in, time.Time{}); err != nil || in.Len() != 1 {
			t.Errorf("read without a deadline: %d datagrams, %v", in.Len(), err)
		}
	})
}

func TestWakeEndsThisReadOrTheNext(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		a, b := p.open(t, Config{}), p.open(t, Config{})
		in := a.NewRecvBatch()
		a.Wake()
		a.Wake()
		if err := a.Read(in, time.Time{}); err != ErrWoken {
			t.Fatalf("read after Wake: %v", err)
		}
		if err := a.Read(in, time.Unix(1, 0)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("two wakes before a Read count as one, got %v", err)
		}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(a.Wake)
			if err := a.Read(in, time.Time{}); err != ErrWoken {
				t.Fatalf("read while woken: %v", err)
			}
		}
		patient.Done(wg.Wait)
		// A wake that meets a datagram is kept for the next Read.
		send(t, b, p.addr(a), []byte("x"))
		a.Wake()
		seen := map[string]bool{}
		for range 2 {
			switch err := a.Read(in, time.Time{}); err {
			case nil:
				seen["datagram"] = true
			case ErrWoken:
				seen["wake"] = true
			default:
				t.Fatal(err)
			}
		}
		if !seen["datagram"] || !seen["wake"] {
			t.Errorf("a datagram and a wake together gave %v", seen)
		}
	})
}

func TestCloseEndsAReadAndForbidsTheRest(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		a := p.open(t, Config{})
		to := p.addr(a)
		result := make(chan error)
		go func() { result <- a.Read(a.NewRecvBatch(), time.Time{}) }()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := patient.Value(result); err != ErrClosed {
			t.Errorf("the read that waited: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
		if err := a.Read(a.NewRecvBatch(), time.Time{}); err != ErrClosed {
			t.Errorf("read after close: %v", err)
		}
		out := a.NewSendBatch()
		out.Append([]byte("x"), to)
		out.Append([]byte("y"), to)
		if err := a.Write(out); err != ErrClosed {
			t.Errorf("write after close: %v", err)
		}
		if s := a.Stats(); s.OutLost != 2 || s.OutDatagrams != 0 {
			t.Errorf("after close: lost %d, sent %d, want 2, 0", s.OutLost, s.OutDatagrams)
		}
		a.Wake() // does nothing and does not hang
	})
}

func TestReadingAndWritingAtOnce(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		a, b := p.open(t, Config{}), p.open(t, Config{})
		const rounds, window = 60, 32
		var wg sync.WaitGroup
		for _, pair := range [][2]*Socket{{a, b}, {b, a}} {
			self, peer := pair[0], pair[1]
			tokens := make(chan struct{}, window) // what is under way is bounded, so nothing overflows
			wg.Go(func() {
				out := self.NewSendBatch()
				for i := range rounds * window {
					tokens <- struct{}{}
					out.Append([]byte{byte(i), byte(i >> 8)}, p.addr(peer))
					if err := self.Write(out); err != nil {
						t.Error(err)
					}
				}
			})
			wg.Go(func() {
				in := peer.NewRecvBatch()
				for i := 0; i < rounds*window; {
					if err := peer.Read(in, time.Time{}); err != nil {
						t.Error(err)
						return
					}
					for m := in.Next(); m != nil; m = in.Next() {
						if got := int(m.Data[0]) | int(m.Data[1])<<8; got != i {
							t.Errorf("got datagram %d, want %d", got, i)
						}
						i++
						patient.Value(tokens)
					}
				}
			})
		}
		patient.Done(wg.Wait)
	})
}

func TestAGroupSharesOnePortAndEachSenderStaysWithItsSocket(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		group := p.group(t, 3, Config{})
		for _, s := range group {
			if s.LocalAddr() != group[0].LocalAddr() || s.LocalAddr().Port() == 0 {
				t.Fatalf("addresses %v and %v differ", s.LocalAddr(), group[0].LocalAddr())
			}
		}
		const senders, each = 24, 5
		for range senders {
			s := p.open(t, Config{Batch: 4})
			for i := range each {
				send(t, s, p.addr(group[0]), []byte{byte(i)})
			}
		}
		var mu sync.Mutex
		seen := map[netip.AddrPort]int{} // sender to member, +1
		total, busy := 0, 0
		var wg sync.WaitGroup
		for i, s := range group {
			wg.Go(func() {
				in := s.NewRecvBatch()
				mine := 0
				for s.Read(in, time.Time{}) == nil {
					mu.Lock()
					for m := in.Next(); m != nil; m = in.Next() {
						if was := seen[m.From]; was != 0 && was != i+1 {
							t.Errorf("sender %v at members %d and %d", m.From, was-1, i)
						}
						seen[m.From] = i + 1
						mine++
						if total++; total == senders*each {
							for _, s := range group {
								s.Wake()
							}
						}
					}
					mu.Unlock()
				}
				if mine > 0 {
					mu.Lock()
					busy++
					mu.Unlock()
				}
			})
		}
		patient.Done(wg.Wait)
		if total != senders*each || len(seen) != senders {
			t.Errorf("%d datagrams of %d senders, want %d of %d", total, len(seen), senders*each, senders)
		}
		if busy < 2 {
			t.Errorf("%d of 3 members got something", busy)
		}
	})
}

func TestAPortInUseIsAnErrorThatSaysWhatToDo(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		group := p.group(t, 2, Config{Batch: 1})
		addr := group[0].LocalAddr().String()
		for _, n := range []int{1, 2} {
			more, err := p.tryGroup(addr, n, Config{Batch: 1})
			if err == nil {
				more[0].Close()
				t.Fatalf("a group of %d on a port in use was opened", n)
			}
			var open *OpenError
			if !errors.Is(err, syscall.EADDRINUSE) || !errors.As(err, &open) {
				t.Errorf("%v is not EADDRINUSE in an OpenError", err)
			}
			want := "udp: listen on " + addr + ": the port is in use by another program; choose another port (0 lets the system pick one) or stop that program"
			if err.Error() != want {
				t.Errorf("got  %s\nwant %s", err, want)
			}
		}
	})
}

func TestADialledSocketTalksToOnePeer(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		a, other := p.open(t, Config{}), p.open(t, Config{})
		c := p.dial(t, p.addr(a), Config{})
		if c.RemoteAddr() != Canonical(p.addr(a)) {
			t.Errorf("remote %v, want %v", c.RemoteAddr(), p.addr(a))
		}
		out := c.NewSendBatch()
		out.Append([]byte("to the peer"), p.addr(a))
		out.Append([]byte("to another"), p.addr(other))
		out.Append([]byte("to the peer again"), c.RemoteAddr())
		if err := c.Write(out); err != nil {
			t.Fatal(err)
		}
		in := a.NewRecvBatch()
		all := collect(t, a, in, 2)
		wantData(t, all, [][]byte{[]byte("to the peer"), []byte("to the peer again")})
		if s := c.Stats(); s.OutLost != 1 || s.OutFaults[datagram.FaultBadAddress] != 1 {
			t.Errorf("lost %d, faults %v, want one bad address", s.OutLost, s.OutFaults)
		}
		send(t, other, all[0].from, []byte("from another"))
		send(t, a, all[0].from, []byte("from the peer"))
		m := collect(t, c, c.NewRecvBatch(), 1)[0]
		if string(m.data) != "from the peer" || m.from != c.RemoteAddr() {
			t.Errorf("got %q from %v", m.data, m.from)
		}
	})
}

func TestAppendAndCommitKeepTheBatchWithinItsBounds(t *testing.T) {
	b := NewSendBatch(Config{MaxDatagram: 100, Batch: 4})
	to := netip.MustParseAddrPort("127.0.0.1:9")
	if b.Append(make([]byte, 101), to) {
		t.Error("a datagram above MaxDatagram was accepted")
	}
	n := 0
	for b.Append(make([]byte, 100), to) {
		n++
	}
	if n != 4 || b.Free() != nil {
		t.Errorf("%d datagrams fit, want 4", n)
	}
	b.Reset()
	n = 0
	for b.Append(nil, to) {
		n++
	}
	if n == 0 || n != b.Len() || n > 1024 {
		t.Errorf("%d empty datagrams fit, Len %d", n, b.Len())
	}
	b.Reset()
	if free := b.Free(); len(free) != 100 || cap(free) != 100 {
		t.Errorf("Free lends %d bytes with capacity %d, want 100", len(free), cap(free))
	}
	for _, n := range []int{-1, 101} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Commit(%d) did not panic", n)
				}
			}()
			b.Commit(n, to)
		}()
	}
}

package core

import (
	"net/netip"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"parley/internal/promise"
	"parley/internal/shell/shelltest"
)

// bench is a server core with clients, joined without a network and without copies.
type bench struct {
	now     time.Time
	mux     *Mux
	clients []*Endpoint
	addrs   []netip.AddrPort
	buf     [MaxPacket]byte
	got     int
}

func newBench(t testing.TB, clients int) *bench {
	b := &bench{now: duoStart, mux: NewMux(duoStart, Config{}, newShared(1), keyOf(1))}
	shared := newShared(2)
	for i := range clients {
		b.addrs = append(b.addrs, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, byte(i >> 8), byte(i)}), 4000))
		b.clients = append(b.clients, NewClient(b.now, serverAddr, Config{}, shared))
	}
	for range 3 {
		b.turn()
	}
	if b.mux.Len() != clients {
		t.Fatalf("%d of %d are connected", b.mux.Len(), clients)
	}
	return b
}

// turn lets a millisecond pass and moves every packet there is, to the end.
func (b *bench) turn() {
	b.now = b.now.Add(time.Millisecond)
	b.mux.HandleTimeout(b.now)
	for moved := true; moved; {
		moved = false
		for i, c := range b.clients {
			for n, _, ok := c.PollTransmit(b.buf[:]); ok; n, _, ok = c.PollTransmit(b.buf[:]) {
				b.mux.HandleDatagram(b.now, b.addrs[i], b.buf[:n])
				moved = true
			}
		}
		for _, _, ok := b.mux.PollEvent(); ok; _, _, ok = b.mux.PollEvent() {
		}
		for n, to, ok := b.mux.PollTransmit(b.buf[:]); ok; n, to, ok = b.mux.PollTransmit(b.buf[:]) {
			a := to.Addr().As4()
			c := b.clients[int(a[2])<<8|int(a[3])]
			c.HandleDatagram(b.now, serverAddr, b.buf[:n])
			for ev, ok := c.PollEvent(); ok; ev, ok = c.PollEvent() {
				b.got += len(ev.Data)
			}
			moved = true
		}
	}
}

// Nothing on the way of a packet allocates: from Send over both ends to the ack of it.
func TestAnExchangeAllocatesNothing(t *testing.T) {
	b := newBench(t, 3)
	data := make([]byte, 200)
	tag := uint32(0)
	exchange := func() {
		for _, a := range b.addrs {
			c := b.mux.Conn(a)
			tag++
			for mode := range Mode(3) {
				if err := c.Send(mode, data); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.SendReport(data, tag); err != nil {
				t.Fatal(err)
			}
		}
		b.turn()
	}
	for range 2000 {
		exchange()
	}
	if n := testing.AllocsPerRun(1000, exchange); n != 0 {
		t.Errorf("%.1f allocations", n)
	}
	if b.got < 2000*3*4*200 {
		t.Errorf("only %d bytes came", b.got)
	}
}

// A connection that has been used and is idle takes at most 6 KiB, both a server's and a client's.
func TestAConnectionIsSmall(t *testing.T) {
	const conns = 1000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b := newBench(t, conns)
	data := make([]byte, 200)
	for range 20 {
		for _, a := range b.addrs {
			for mode := range Mode(3) {
				if err := b.mux.Conn(a).Send(mode, data); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.turn()
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / conns
	t.Logf("%d bytes a connection with both its ends; an Endpoint is %d bytes, the server's side %d with its Conn", each,
		unsafe.Sizeof(Endpoint{}), unsafe.Sizeof(Conn{}))
	if each > 2*6<<10 {
		t.Errorf("%d bytes a connection with both its ends", each)
	}
	runtime.KeepAlive(b)
}

// T58: connections that come and go leave nothing behind.
func TestChurn(t *testing.T) {
	b := newBench(t, 8)
	cycle := func() {
		for i, a := range b.addrs {
			if c := b.mux.Conn(a); i%2 == 0 && c != nil {
				c.Close("go")
			} else {
				b.clients[i].Close(b.now, "")
			}
		}
		for range 8 { // until the challenge of those that left is over
			b.now = b.now.Add(200 * time.Millisecond)
			b.turn()
		}
		if !b.mux.conns.Idle() {
			t.Fatalf("something of those who left is held; %d connections are left", b.mux.Len())
		}
		for i := range b.clients {
			b.clients[i] = NewClient(b.now, serverAddr, Config{}, b.mux.shared)
		}
		for range 3 {
			b.turn()
		}
		if b.mux.Len() != len(b.clients) {
			t.Fatalf("%d connections", b.mux.Len())
		}
	}
	for range 100 {
		cycle()
	}
	before := shelltest.LiveObjects()
	cycles := promise.Keeps(t, "T58", "stamp", tier(10_000, 125_000, 125_000))
	for range cycles {
		cycle()
	}
	after := shelltest.LiveObjects()
	if after > before+before/100+50 {
		t.Errorf("%d objects after %d more connections, %d before", after, 8*cycles, before)
	}
	stats := b.mux.Stats()
	if err := stats.Check(); err != nil {
		t.Error(err)
	}
	if stats.Opened != stats.Ended+uint64(b.mux.Len()) {
		t.Errorf("%d opened, %d ended, %d there", stats.Opened, stats.Ended, b.mux.Len())
	}
}

// BenchmarkEntity is a reliable entity packet of 200 bytes from Send to its ack, both ends.
func BenchmarkEntity(b *testing.B) {
	x := newBench(b, 1)
	data := make([]byte, 200)
	c := x.mux.Conn(x.addrs[0])
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Send(Reliable, data); err != nil {
			b.Fatal(err)
		}
		x.turn()
	}
}

// BenchmarkStranger is what an init of an unknown address costs, with its accept.
func BenchmarkStranger(b *testing.B) {
	m := NewMux(duoStart, Config{}, newShared(1), keyOf(1))
	var buf [MaxPacket]byte
	in := (&Packet{Kind: KindInit}).AppendTo(FromClient, nil)
	b.ReportAllocs()
	for i := uint32(0); b.Loop(); i++ {
		m.HandleDatagram(duoStart, netip.AddrPortFrom(netip.AddrFrom4([4]byte{1, byte(i >> 16), byte(i >> 8), byte(i)}), 9), in)
		m.PollTransmit(buf[:])
	}
}

// BenchmarkTiny is what a datagram costs that is no packet.
func BenchmarkTiny(b *testing.B) {
	m := NewMux(duoStart, Config{}, newShared(1), keyOf(1))
	for b.Loop() {
		m.HandleDatagram(duoStart, clientAddr, nil)
	}
}

package core

import (
	"net/netip"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"parley/internal/kit"
)

// newBench returns a server core and clients that are connected, without a network.
func newBench(t testing.TB, clients int) (*kit.Town, *Mux) {
	w := kit.NewTown(t, dialect, clients)
	w.Connect()
	return w, w.Server.(*serverCore).Mux
}

// Nothing on the way of a packet allocates: from Send over both ends to the ack of it.
func TestAnExchangeAllocatesNothing(t *testing.T) {
	b, mux := newBench(t, 3)
	data := make([]byte, 200)
	tag := uint32(0)
	exchange := func() {
		for _, a := range b.Addrs {
			c := mux.Conn(a)
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
		b.Turn(time.Millisecond)
	}
	for range 2000 {
		exchange()
	}
	if n := testing.AllocsPerRun(1000, exchange); n != 0 {
		t.Errorf("%.1f allocations", n)
	}
	if b.Got < 2000*3*4*200 {
		t.Errorf("only %d bytes came", b.Got)
	}
}

// A connection that has been used and is idle takes at most 6 KiB, both a server's and a client's.
func TestAConnectionIsSmall(t *testing.T) {
	const conns = 1000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b, mux := newBench(t, conns)
	data := make([]byte, 200)
	for range 20 {
		for _, a := range b.Addrs {
			for mode := range Mode(3) {
				if err := mux.Conn(a).Send(mode, data); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.Turn(time.Millisecond)
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

// BenchmarkEntity is a reliable entity packet of 200 bytes from Send to its ack, both ends.
func BenchmarkEntity(b *testing.B) {
	x, mux := newBench(b, 1)
	data := make([]byte, 200)
	c := mux.Conn(x.Addrs[0])
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Send(Reliable, data); err != nil {
			b.Fatal(err)
		}
		x.Turn(time.Millisecond)
	}
}

// BenchmarkStranger is what an init of an unknown address costs, with its accept.
func BenchmarkStranger(b *testing.B) {
	m := NewMux(duoStart, Config{}, newShared(1), kit.Key(1))
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
	m := NewMux(duoStart, Config{}, newShared(1), kit.Key(1))
	for b.Loop() {
		m.HandleDatagram(duoStart, clientAddr, nil)
	}
}

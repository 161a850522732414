package kit

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"parley/internal/promise"
)

// Tiny is T36: empty and one-byte datagrams from strangers between honest packets cost these nothing: each is delivered in
// its own turn, and a tiny one has no answer, costs no memory and is counted as malformed. own says that they come from the
// client's address, too, for a dialect in which such bytes are no connection's.
func Tiny(t *testing.T, d Dialect, own bool) {
	w := NewTown(t, d, 1)
	w.Connect()
	w.Turn(100 * time.Millisecond) // all that belongs to the handshake is done
	between := promise.Keeps(t, "T36", d.Name, Rounds(100_000, 1_000_000))
	var one [1]byte
	var heard []byte // of the honest packets, by the server and by the client
	w.Hear = func(_ bool, ev Event) {
		if ev.Kind == Data {
			heard = append(heard, ev.Bytes...)
		}
	}
	flood := func() {
		for i := range between {
			one[0] = byte(i >> 1)
			w.Server.HandleDatagram(w.Now, netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)}), 1), one[:i&1])
			if own {
				w.Server.HandleDatagram(w.Now, w.Addrs[0], one[:i&1])
			}
		}
	}
	for i := range 5 {
		before, runs := w.Server.Malformed(), 0
		allocs := 1.0
		for allocs > 0 && runs < 8 { // what the runtime allocates meanwhile counts too
			allocs = testing.AllocsPerRun(1, flood)
			runs += 2
		}
		if allocs > 0 {
			t.Errorf("%.0f allocations", allocs)
		}
		if got, want := w.Server.Malformed()-before, uint64(runs*between); got != want {
			t.Errorf("%d of %d are counted as malformed", got, want)
		}
		if n, to, ok := w.Server.PollTransmit(w.buf[:]); ok {
			t.Fatalf("%v is answered with %x", to, w.buf[:n])
		}
		heard = heard[:0]
		want := []byte{byte(i)}
		w.Server.Advance(w.Now)
		if err := w.Server.Send(w.Addrs[0], Ordered, want); err != nil {
			t.Fatal(err)
		}
		if !d.Mute {
			want = append(want, byte(i))
			if err := w.Clients[0].Send(w.Now, Ordered, want[:1]); err != nil {
				t.Fatal(err)
			}
		}
		if w.Turn(time.Millisecond); !bytes.Equal(heard, want) {
			t.Fatalf("of the honest packets %x came, want %x", heard, want)
		}
		w.Turn(300 * time.Millisecond) // nothing is due when the next flood begins
	}
	if err := w.Server.Check(); err != nil || w.Server.Len() != 1 {
		t.Errorf("%d are connected, %v", w.Server.Len(), err)
	}
}

package core

import (
	"bytes"
	"fmt"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/wire"
)

// T1: what is written is read again, and what is read is written as it came.
func TestPacketsRoundTrip(t *testing.T) {
	for _, k := range allKinds {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			r := kit.Rand(t)
			d, m := &draw{r: r}, newModel(r)
			var got Packet
			var b, again []byte
			for range promise.Keeps(t, "T1", "replica", kit.Rounds(1_000_000, 10_000_000)) {
				m.randomise(d, k)
				b = m.appendTo(t, b[:0])
				if !got.Parse(m.from, b) {
					t.Fatalf("%x\nof %+v: %v", b, m.p, got.ParseErr(m.from, b))
				}
				if field := m.differs(&got); field != "" {
					t.Fatalf("%x: %s differs\ngot  %+v\nwant %+v", b, field, got, m.p)
				}
				if again = got.AppendTo(again[:0]); !bytes.Equal(again, b) {
					t.Fatalf("read  %x\nwrote %x", b, again)
				}
			}
		})
	}
}

// T2: nothing that ends early is read, and nothing that goes on too long. The
// prefixes that are packets are a reject without a size of its reason, and a bundle that ends behind a packet.
func TestEveryPrefixAndEveryLongerPacketIsRefused(t *testing.T) {
	for _, k := range allKinds {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			r := kit.Rand(t)
			d, m := &draw{r: r}, newModel(r)
			var p Packet
			var b []byte
			for range promise.Keeps(t, "T2", "replica", kit.Rounds(100_000, 1_000_000)) {
				m.randomise(d, k)
				b = m.appendTo(t, b[:0])
				for n := range b {
					if p.Parse(m.from, b[:n:n]) && (k != KindReject || n != minRejectBytes) && !m.endsBundled(n) {
						t.Fatalf("%x: its first %d bytes are read as a whole", b, n)
					}
				}
				if b = append(b, byte(d.bits(8))); p.Parse(m.from, b) {
					t.Fatalf("%x: the last byte is not missed", b)
				}
			}
			want := wire.Error{Offset: len(b) - 1, Cause: wire.CauseLeftOver, Left: 1}
			if k == KindBundle {
				want = wire.Error{Field: fmt.Sprintf("packets[%d].packet size", len(m.bundled)), Offset: len(b) - 1, Cause: wire.CauseShort, Want: 2, Left: 1}
			}
			if got := p.ParseErr(m.from, b).(*wire.Error); *got != want {
				t.Fatalf("%x: got %+v, want %+v", b, *got, want)
			}
		})
	}
}

// endsBundled reports whether one of the packets of a bundle ends at byte n of it.
func (m *model) endsBundled(n int) bool {
	end := 1
	for _, packet := range m.bundled {
		if end += bundledHead + len(packet); end == n {
			return m.p.Kind == KindBundle
		}
	}
	return false
}

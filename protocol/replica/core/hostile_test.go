package core

import (
	"bytes"
	"runtime"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
)

// walk goes over all that a parsed packet lists, each way that there is, and
// returns how many elements it saw and how many bytes they take. The ways must
// agree.
func walk(t testing.TB, p *Packet) (turns, size int) {
	for v := range p.Table.Variables() {
		turns++
		size += minVariableBytes + len(v.Name)
	}
	for e := range p.Table.Entities() {
		turns++
		size += minEntityBytes + len(e.Name)
		for v := range e.Variables() {
			turns++
			size += minEntityVariableBytes + len(v.Name)
		}
	}
	grouped, flat := 0, 0
	for e := range p.Values.Entities() {
		turns++
		size += minEntityUpdateBytes
		for u := range e.Variables() {
			turns++
			size += minVariableUpdateBytes
			for id, data := range u.Values() {
				turns++
				size += minEntityValueBytes + len(data)
				grouped += int(e.Link) + int(u.Link) + int(id) + len(data)
			}
		}
	}
	for v := range p.Values.EntityValues() {
		flat += int(v.Entity) + int(v.Variable) + int(v.ID) + len(v.Data)
	}
	for v := range p.Values.Variables() {
		turns++
		size += minValueBytes + len(v.Data)
	}
	if flat != grouped {
		t.Fatalf("the two walks over %+v see different values", p.Values)
	}
	return turns, size
}

// checkAccepted holds what Parse made of b against b.
func checkAccepted(t testing.TB, p *Packet, b, again []byte) []byte {
	again = p.AppendTo(again[:0])
	if !bytes.Equal(again, b) && !(p.Kind == KindReject && len(b) == minRejectBytes && bytes.Equal(again[:5], b) && again[5] == 0) {
		t.Fatalf("read  %x\nwrote %x", b, again)
	}
	if p.Kind == KindBundle {
		var inner Packet
		n, size := 0, 1
		for packet := range p.Bundle.Packets() {
			n, size = n+1, size+bundledHead+len(packet)
			if !inner.Parse(FromClient, packet) && !inner.Parse(FromServer, packet) || inner.Kind == KindBundle || inner.Kind.Type() <= TypeDisconnect {
				t.Fatalf("%x has %x in it", b, packet)
			}
		}
		if n == 0 || n > MaxBundled || size != len(b) {
			t.Fatalf("%x: %d packets, %d bytes", b, n, size)
		}
	}
	if p.Kind == KindLinkTable || p.Kind == KindReplicate {
		turns, size := walk(t, p)
		if 2*turns > len(b) || size != len(p.Table.body)+len(p.Values.body) {
			t.Fatalf("%x: %d turns, %d bytes", b, turns, size)
		}
	}
	return again
}

// checkPlain holds the short way to know and read a message against the long one, whose
// result p is.
func checkPlain(t testing.TB, p *Packet, b []byte) {
	plain := plainMessage(b)
	if plain != (p.Kind == KindMessage) {
		t.Fatalf("%x is a %v, and plain: %v", b, p.Kind, plain)
	}
	var q Packet
	if !plain {
		return
	}
	if q.reread(b); !bytes.Equal(q.Name, p.Name) || !bytes.Equal(q.Data, p.Data) || q.Time != p.Time || q.Sequence != p.Sequence ||
		q.Reliable != p.Reliable || q.Ordered != p.Ordered || q.More != p.More || q.OrderLink != p.OrderLink {
		t.Fatalf("%x is read as %+v, and again as %+v", b, *p, q)
	}
}

// validPackets are some of each kind, and the vectors.
func validPackets(t testing.TB, d *draw) (all [][]byte) {
	m := newModel(d.r)
	for _, k := range allKinds {
		for range 10 {
			m.randomise(d, k)
			all = append(all, m.appendTo(t, nil))
		}
	}
	for _, v := range readVectors(t) {
		if b := v.Bytes; len(b) > 0 {
			all = append(all, b)
		}
	}
	return all
}

// T3: random bytes, half of them from valid packets with a few bytes changed.
// Nothing panics, nothing is allocated, and what is accepted is canonical.
func TestRandomBytes(t *testing.T) {
	r := kit.Rand(t)
	d := &draw{r: r}
	valid := validPackets(t, d)
	var p Packet
	accepted, total := 0, promise.Keeps(t, "T3", "replica", kit.Rounds(10_000_000, 100_000_000))
	in, out := make([]byte, 0, 2048), make([]byte, 0, 2048)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range total {
		v := r.Uint64()
		step := func() uint64 {
			v = v*6364136223846793005 + 1442695040888963407
			return v >> 32
		}
		if i%2 == 0 {
			in = in[:v>>8%64]
			for j := range in {
				in[j] = byte(step())
			}
			if len(in) > 4 && v>>16%8 != 0 {
				// Bytes that lead beyond the first checks.
				in[0], in[1] = in[0]%10, in[1]&0x83
				if in[0] == 4 {
					in[1], in[4], in[5%len(in)] = 3, in[4]%4, 0
				}
			}
		} else {
			in = append(in[:0], valid[v%uint64(len(valid))]...)
			for range v >> 16 % 4 {
				bits := step()
				in[step()%uint64(len(in))] ^= byte(bits) & byte(bits>>8)
			}
			if v>>20%8 == 0 {
				in = in[:step()%uint64(len(in))]
			}
		}
		if from := Side(1 + v>>24%2); p.Parse(from, in) {
			accepted++
			out = checkAccepted(t, &p, in, out)
		}
		checkPlain(t, &p, in)
	}
	runtime.ReadMemStats(&after)
	if accepted < total/20 || accepted > total*3/4 {
		t.Errorf("%d of %d accepted: the inputs are not a mix of good and bad", accepted, total)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes allocated, want a constant few", got)
	}
}

// sizeByte is a byte of a packet that is a size or a count, or two.
type sizeByte struct {
	name string
	at   int
	wide bool // of two bytes
}

// T5: each size and count with each value that it can have. A lie is refused, or
// reads as another packet that is just as canonical; either way the turns are
// bounded by the bytes that are there, and nothing is made.
func TestLyingSizes(t *testing.T) {
	promise.Keeps(t, "T5", "replica", 1)
	table := "04 03 0000 0100 02 02  0100 07 01 61  0200 0a 00  0300 02 6262 02  00 08 01 63  01 08 00  0400 00 00"
	values := "05 00 0000 0000000000000000 02 02  0100 02  0000 02 01 02 aabb 02 00  0100 00  0200 00  0300 01 cc  0400 00"
	for _, tt := range []struct {
		name  string
		from  Side
		hex   string
		sizes []sizeByte
	}{
		{"reject", FromServer, "00 00 0100 02 03 616263", []sizeByte{{"reason size", 5, false}}},
		{"disconnect", FromServer, "01 00 0000 03 616263", []sizeByte{{"reason size", 4, false}}},
		{"disconnect of a client", FromClient, "01 00 0000 00", []sizeByte{{"reason size", 4, false}}},
		{"message", FromClient, "06 00 0000 0000000000000000 03 616263 0200 7a7a", []sizeByte{{"name size", 12, false}, {"data size", 16, true}}},
		{"bundle", FromClient, "07 0300 030201 1100 06 00 0000 0000000000000000 02 6162 0000 0300 030201", []sizeByte{
			{"packet size", 1, true}, {"second packet size", 6, true}, {"name size inside", 20, false}, {"data size inside", 23, true}, {"last packet size", 25, true},
		}},
		{"table", FromServer, table, []sizeByte{
			{"variable count", 6, false}, {"entity count", 7, false}, {"name size", 11, false}, {"empty name size", 16, false},
			{"entity name size", 19, false}, {"entity variable count", 22, false}, {"name size inside", 25, false}, {"last variable count", 33, false},
		}},
		{"replicate", FromServer, values, []sizeByte{
			{"entity count", 12, false}, {"variable count", 13, false}, {"entity's variable count", 16, false}, {"value count", 19, false},
			{"data size", 21, false}, {"second data size", 25, false}, {"second value count", 28, false}, {"last variable count", 31, false},
			{"variable's data size", 34, false}, {"last data size", 38, false},
		}},
	} {
		good := unhex(t, tt.hex)
		var p Packet
		if !p.Parse(tt.from, good) {
			t.Fatalf("%s: %v", tt.name, p.ParseErr(tt.from, good))
		}
		for _, s := range tt.sizes {
			lies, accepted := 256, 0
			if s.wide {
				lies = 65536
			}
			for lie := range lies {
				b := bytes.Clone(good)
				b[s.at] = byte(lie)
				if s.wide {
					b[s.at+1] = byte(lie >> 8)
				}
				if p.Parse(tt.from, b) {
					accepted++
					checkAccepted(t, &p, b, nil)
				}
			}
			// Of counts two may be right: the next block may look like an element.
			if accepted < 1 || accepted > 2 {
				t.Errorf("%s: %d values of %s are accepted", tt.name, accepted, s.name)
			}
		}
	}
}

// T5: the worst counts in the fewest bytes, and in the most, cost no more than a
// walk over what is there.
func TestCountsOfAllOnes(t *testing.T) {
	promise.Keeps(t, "T5", "replica", 1)
	var p Packet
	for _, head := range []string{"04 03 0000 0100", "05 00 0000 0000000000000000"} {
		for _, n := range []int{0, 1, 2, 3, 300, 65_000} {
			b := append(unhex(t, head), bytes.Repeat([]byte{0xff}, n)...)
			if p.Parse(FromServer, b) {
				t.Errorf("%x... of %d bytes is accepted", b[:8], len(b))
			}
		}
	}
}

package wire

import (
	"encoding/binary"
	"testing"
	"unicode/utf8"
)

// message64 is a message of 64 bytes.
func message64() []byte {
	m := message{Type: messageType, Flags: 3, Sequence: 513, Time: 1 << 40, Name: []byte("position"), Data: make([]byte, 41)}
	return m.appendTo(nil)
}

func BenchmarkRead64(b *testing.B) {
	benchmarkParse(b, (*message).parse)
}

// BenchmarkRead64ByHand is the floor: indexes and one check for the fixed part,
// the same judgement of type, flags and name, no word on what is wrong.
func BenchmarkRead64ByHand(b *testing.B) {
	benchmarkParse(b, func(m *message, b []byte) bool {
		if len(b) < minMessage || b[0] != messageType || b[1]&3 == flagOrdered {
			return false
		}
		m.Type, m.Flags = b[0], b[1]
		m.Sequence, m.Time = binary.LittleEndian.Uint16(b[2:]), binary.LittleEndian.Uint64(b[4:])
		n := int(b[12])
		if b = b[13:]; len(b) < n+2 || !utf8.Valid(b[:n]) {
			return false
		}
		m.Name, m.Data = b[:n:n], b[n+2:]
		return len(m.Data) == int(binary.LittleEndian.Uint16(b[n:]))
	})
}

func benchmarkParse(b *testing.B, parse func(*message, []byte) bool) {
	in, m := message64(), new(message)
	if len(in) != 64 {
		b.Fatalf("%d bytes, want 64", len(in))
	}
	b.ReportAllocs()
	b.SetBytes(64)
	for b.Loop() {
		if !parse(m, in) {
			b.Fatal("refused")
		}
	}
}

func BenchmarkRead64Refused(b *testing.B) {
	in, m := message64(), new(message)
	b.ReportAllocs()
	for b.Loop() {
		if m.parse(in[:63]) {
			b.Fatal("accepted")
		}
	}
}

func BenchmarkReadNested(b *testing.B) {
	u := update{Entities: make([]entity, 8)}
	for i := range u.Entities {
		u.Entities[i].Attributes = []attribute{{1, []byte("ab")}, {2, []byte("cd")}}
	}
	in := u.appendTo(nil)
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if !u.parse(in) {
			b.Fatal("refused")
		}
	}
}

func BenchmarkWrite64(b *testing.B) {
	var m message
	m.parse(message64())
	buf := make([]byte, 0, 64)
	b.ReportAllocs()
	b.SetBytes(64)
	for b.Loop() {
		buf = m.appendTo(buf[:0])
	}
}

func BenchmarkErr(b *testing.B) {
	in, m := message64(), new(message)
	b.ReportAllocs()
	for b.Loop() {
		if m.explain(in[:63]) == nil {
			b.Fatal("accepted")
		}
	}
}

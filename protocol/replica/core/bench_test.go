package core

import "testing"

// message64 is a message of 64 bytes, as the bar of the codec has it.
func message64() *Packet {
	return &Packet{
		Kind: KindMessage, Reliable: true, Ordered: true, OrderLink: 1, Sequence: 513, Time: 1 << 40,
		Name: []byte("position"), Data: make([]byte, 41),
	}
}

func benchmarkParse(b *testing.B, from Side, in []byte) {
	var p Packet
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if !p.Parse(from, in) {
			b.Fatal("refused")
		}
	}
}

// The bar: at most 60 ns and no allocation.
func BenchmarkParseMessage64(b *testing.B) {
	in := message64().AppendTo(nil)
	if len(in) != 64 {
		b.Fatalf("%d bytes, want 64", len(in))
	}
	benchmarkParse(b, FromClient, in)
}

// The bar: at most 60 ns and no allocation.
func BenchmarkAppendMessage64(b *testing.B) {
	p, buf := message64(), make([]byte, 0, 64)
	b.ReportAllocs()
	b.SetBytes(64)
	for b.Loop() {
		buf = p.AppendTo(buf[:0])
	}
}

func BenchmarkParseAck(b *testing.B) { benchmarkParse(b, FromServer, []byte{3, 1, 2}) }

func BenchmarkParseRefused(b *testing.B) {
	in, p := message64().AppendTo(nil), new(Packet)
	b.ReportAllocs()
	for b.Loop() {
		if p.Parse(FromClient, in[:63]) {
			b.Fatal("accepted")
		}
	}
}

// replicate1200 is a full replicate: ten variables of some entities, 4 bytes each.
func replicate1200() []byte {
	var w ReplicateWriter
	w.Start(nil, &Packet{Kind: KindReplicate, Reliable: true}, 1200)
	for variable := range uint16(10) {
		for id := range uint8(19) {
			w.Add(1, variable, id, []byte{1, 2, 3, 4})
		}
	}
	return w.Bytes()
}

func BenchmarkParseReplicate1200(b *testing.B) { benchmarkParse(b, FromServer, replicate1200()) }

func BenchmarkWalkReplicate1200(b *testing.B) {
	var p Packet
	in, n := replicate1200(), 0
	p.Parse(FromServer, in)
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		for v := range p.Values.EntityValues() {
			n += len(v.Data)
		}
	}
}

func BenchmarkWriteReplicate1200(b *testing.B) {
	head, buf, data := &Packet{Kind: KindReplicate, Reliable: true}, make([]byte, 0, 1200), []byte{1, 2, 3, 4}
	var w ReplicateWriter
	b.ReportAllocs()
	for b.Loop() {
		w.Start(buf, head, 1200)
		for variable := range uint16(10) {
			for id := range uint8(19) {
				w.Add(1, variable, id, data)
			}
		}
	}
	b.SetBytes(int64(w.Len()))
}

// The worst that 65,507 bytes can ask for: a client must parse what its server
// sends, however mean.
func BenchmarkParseWorstReplicate(b *testing.B) {
	var w ReplicateWriter
	w.Start(nil, &Packet{Kind: KindReplicate}, 65_507)
	for w.Add(1, 1, 1, nil) {
	}
	benchmarkParse(b, FromServer, w.Bytes())
}

func BenchmarkParseWorstTable(b *testing.B) {
	var w TableWriter
	w.Start(nil, &Packet{Kind: KindLinkTable, Reliable: true, Ordered: true}, 65_507)
	for w.Add(1, "", 1, DataInt, "") {
	}
	benchmarkParse(b, FromServer, w.Bytes())
}

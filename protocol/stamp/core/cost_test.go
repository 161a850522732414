package core

import "testing"

// packet64 is an entity packet of 64 bytes with four records.
func packet64() (p Packet) {
	p = Packet{Kind: KindEntity, Reliable: true, Ordered: true, Sequence: 513, Time: 1 << 62}
	for i := range 4 {
		p.Data, _ = (&Record{uint16(i), 1, noise[i*9 : i*9+9]}).AppendTo(p.Data, MaxData)
	}
	return p
}

// Neither reading nor refusing nor writing allocates.
func TestCodecAllocatesNothing(t *testing.T) {
	entity := packet64()
	bye := Packet{Kind: KindDisconnect, Reason: noise[:50]}
	var p Packet
	var rec Record
	good, goodbye := entity.AppendTo(FromServer, nil), bye.AppendTo(FromServer, nil)
	buf := make([]byte, 0, MaxPacket)
	for _, tt := range []struct {
		name string
		run  func() bool
		want bool
	}{
		{"an entity packet read", func() bool { return p.Parse(FromServer, good) && len(p.Data) == 52 }, true},
		{"an entity packet written", func() bool { return len(entity.AppendTo(FromServer, buf)) == 64 }, true},
		{"an entity packet from the wrong side", func() bool { return p.Parse(FromClient, good) }, false},
		{"a packet cut short", func() bool { return p.Parse(FromServer, good[:11]) }, false},
		{"a disconnect read", func() bool { return p.Parse(FromServer, goodbye) && len(p.Reason) == 50 }, true},
		{"a disconnect written", func() bool { return len(bye.AppendTo(FromServer, buf)) == 64 }, true},
		{"a disconnect cut short", func() bool { return p.Parse(FromServer, goodbye[:63]) }, false},
		{"records read", func() bool { return CheckRecords(entity.Data) }, true},
		{"records cut short", func() bool { return CheckRecords(entity.Data[:51]) }, false},
		{"a record written", func() bool {
			rec = Record{1, 2, noise[:20]}
			_, ok := rec.AppendTo(buf, MaxData)
			return ok
		}, true},
		{"a record that does not fit", func() bool {
			_, ok := rec.AppendTo(buf, 23)
			return ok
		}, false},
	} {
		if got := tt.run(); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
		if got := testing.AllocsPerRun(100, func() { tt.run() }); got != 0 {
			t.Errorf("%s: %v allocations, want 0", tt.name, got)
		}
	}
}

func BenchmarkParse64(b *testing.B) {
	in := packet64()
	benchmarkParse(b, in.AppendTo(FromServer, nil))
}

func BenchmarkParseDisconnect64(b *testing.B) {
	in := Packet{Kind: KindDisconnect, Reason: noise[:50]}
	benchmarkParse(b, in.AppendTo(FromServer, nil))
}

func benchmarkParse(b *testing.B, in []byte) {
	var p Packet
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if !p.Parse(FromServer, in) {
			b.Fatal("refused")
		}
	}
}

func BenchmarkParseRefused64(b *testing.B) {
	entity := packet64()
	in := entity.AppendTo(FromServer, nil)
	var p Packet
	b.ReportAllocs()
	for b.Loop() {
		if p.Parse(FromClient, in) {
			b.Fatal("accepted")
		}
	}
}

func BenchmarkAppendTo64(b *testing.B) {
	p := packet64()
	buf := make([]byte, 0, MaxPacket)
	b.ReportAllocs()
	b.SetBytes(64)
	for b.Loop() {
		buf = p.AppendTo(FromServer, buf[:0])
	}
}

// BenchmarkRecords reads a full packet of records of 22 bytes.
func BenchmarkRecords(b *testing.B) {
	var data []byte
	for ok := true; ok; {
		data, ok = (&Record{7, 1, noise[:18]}).AppendTo(data, MaxData)
	}
	var rec Record
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		records := ReadRecords(data)
		for records.Next(&rec) {
		}
	}
}

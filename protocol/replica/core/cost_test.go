package core

import "testing"

// Neither reading nor refusing nor writing allocates, nor does a walk.
func TestNothingAllocates(t *testing.T) {
	var p, message Packet
	var total int
	m64, buf := message64(), make([]byte, 0, 2048)
	b64 := m64.AppendTo(nil)
	table := unhex(t, "04 03 0000 0100 02 02  0100 07 01 61  0200 0a 00  0300 02 6262 02  00 08 01 63  01 08 00  0400 00 00")
	values := replicate1200()
	// Packets of functions that were not inlined, to walk over.
	var linked, replicated Packet
	if !linked.Parse(FromServer, table) || !replicated.Parse(FromServer, values) || !message.Parse(FromClient, b64) {
		t.Fatal("refused")
	}
	bundle := Packet{Kind: KindBundle}
	for range MaxBundled / 2 {
		bundle.Bundle.Add(unhex(t, least[KindAck]))
		bundle.Bundle.Add(unhex(t, least[KindReplicate]))
	}
	bundled := bundle.AppendTo(nil)
	head := &Packet{Kind: KindReplicate, Reliable: true}
	linkHead := &Packet{Kind: KindLinkTable, Reliable: true, Ordered: true}
	var w ReplicateWriter
	var tw TableWriter
	for _, tt := range []struct {
		name string
		run  func() bool
	}{
		{"a message read", func() bool { return p.Parse(FromClient, b64) }},
		{"a message written", func() bool { return len(m64.AppendTo(buf)) == 64 }},
		{"a message cut short", func() bool { return !p.Parse(FromClient, b64[:63]) }},
		{"a packet of the wrong side", func() bool { return !p.Parse(FromClient, values) }},
		{"a table read", func() bool { return p.Parse(FromServer, table) }},
		{"a table cut short in an element", func() bool { return !p.Parse(FromServer, table[:len(table)-5]) }},
		{"a table walked", func() bool {
			for v := range linked.Table.Variables() {
				total += len(v.Name)
			}
			for e := range linked.Table.Entities() {
				for v := range e.Variables() {
					total += len(v.Name)
				}
			}
			return total > 0
		}},
		{"a bundle read", func() bool { return p.Parse(FromServer, bundled) }},
		{"a bundle with a bad last packet", func() bool { return !p.Parse(FromServer, bundled[:len(bundled)-1]) }},
		{"a bundle walked", func() bool {
			for packet := range bundle.Bundle.Packets() {
				total += len(packet)
			}
			return total > 0
		}},
		{"a replicate read", func() bool { return p.Parse(FromServer, values) }},
		{"a replicate walked", func() bool {
			for v := range replicated.Values.EntityValues() {
				total += len(v.Data)
			}
			for v := range replicated.Values.Variables() {
				total += len(v.Data)
			}
			return total > 0
		}},
		{"a replicate walked by its groups", func() bool {
			for e := range replicated.Values.Entities() {
				for u := range e.Variables() {
					for id, data := range u.Values() {
						total += int(id) + len(data)
					}
				}
			}
			return total > 0
		}},
		{"a replicate written", func() bool {
			w.Start(buf, head, 1200)
			return w.Add(1, 2, 3, b64[:4]) && w.Add(1, 2, 4, b64[:4]) && w.Variable(5, b64[:8]) && len(w.Bytes()) > 0
		}},
		{"a table written", func() bool {
			tw.Start(buf, linkHead, 1200)
			return tw.Variable(1, DataInt, "tick") && tw.Add(1, "player", 2, DataFloat, "x") && len(tw.Bytes()) > 0
		}},
	} {
		if !tt.run() {
			t.Errorf("%s fails", tt.name)
		}
		if got := testing.AllocsPerRun(100, func() { tt.run() }); got != 0 {
			t.Errorf("%s: %v allocations, want 0", tt.name, got)
		}
	}
}

package connector

import "testing"

// payload has eleven messages of players: what a busy package holds.
func payload() (b []byte) {
	path := Peer{Kind: PeerSetPath, Entity: Entity{1, 70000}, Path: make([]Point, 8)}
	b = path.AppendTo(b)
	for i := range 5 {
		e := Entity{1, uint32(300 + i)}
		b = (&Peer{Kind: PeerTransform, Entity: e}).AppendTo(b)
		b = (&Peer{Kind: PeerChangeHealth, Entity: e, Health: -1}).AppendTo(b)
	}
	return b
}

// Neither reading nor refusing nor writing allocates.
func TestCodecAllocatesNothing(t *testing.T) {
	good, steps := payload(), []byte{0, 7, 1, 3, 1, 2}
	buf := make([]byte, 0, MaxPayload)
	bad := append(good[:len(good):len(good)], 9)
	path := make([]Point, 0, MaxPoints)
	for _, tt := range []struct {
		name string
		run  func() bool
		want bool
	}{
		{"messages of players read", func() bool { m := Peer{Path: path}; return Check(good, &m) }, true},
		{"messages of players refused", func() bool { m := Peer{Path: path}; return Check(bad, &m) }, false},
		{"messages of players written", func() bool {
			out, m := buf, Peer{Path: path}
			for msgs := Read(good); msgs.Next(&m); {
				out = m.AppendTo(out)
			}
			return len(out) == len(good)
		}, true},
		{"messages to a game read", func() bool { var m ToGame; return Check(steps, &m) }, true},
		{"messages from a game written", func() bool {
			m := FromGame{Kind: FromGamePeerJoined, Player: 3}
			return len(m.AppendTo(buf)) == 2
		}, true},
	} {
		if got := tt.run(); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
		if got := testing.AllocsPerRun(100, func() { tt.run() }); got != 0 {
			t.Errorf("%s: %v allocations, want 0", tt.name, got)
		}
	}
}

func BenchmarkCheckPeer(b *testing.B) {
	in := payload()
	var m Peer
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if !Check(in, &m) {
			b.Fatal("refused")
		}
	}
}

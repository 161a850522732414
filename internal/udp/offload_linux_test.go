package udp

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/datagram"
	"parley/internal/patient"
	"parley/internal/promise"
)

// Joined or not, the receiver sees the datagrams that the sender made: every
// mix of sizes, several receivers, runs longer than one GSO message.
func TestJoiningPreservesEveryDatagram(t *testing.T) {
	onBatched(t, func(t *testing.T, p *place) {
		var peers []*Socket
		var batches []*RecvBatch
		for range 3 {
			s := p.open(t, Config{})
			peers, batches = append(peers, s), append(batches, s.NewRecvBatch())
		}
		b := p.open(t, Config{})
		out := b.NewSendBatch()
		eachSeed(t, 20, func(t *testing.T, r *rand.Rand) {
			want := make([][][]byte, len(peers))
			for range 1 + r.IntN(6) {
				i := r.IntN(len(peers))
				for _, d := range randomDatagrams(r, 1+r.IntN(100)) {
					want[i] = append(want[i], d)
					if !out.Append(d, p.addr(peers[i])) {
						if err := b.Write(out); err != nil {
							t.Fatal(err)
						}
						out.Append(d, p.addr(peers[i]))
					}
				}
			}
			if err := b.Write(out); err != nil {
				t.Fatal(err)
			}
			for i, s := range peers {
				wantData(t, collect(t, s, batches[i], len(want[i])), want[i])
			}
		})
		gso, _ := b.Offload()
		_, gro := peers[0].Offload()
		if out := b.Stats(); gso != (out.OutJoined > 0) {
			t.Errorf("GSO is on: %v, datagrams that left joined: %d", gso, out.OutJoined)
		}
		var in datagram.Stats
		for _, s := range peers {
			in.InJoined += s.Stats().InJoined
		}
		if want := gso && gro; want != (in.InJoined > 0) {
			t.Errorf("GSO and GRO are on: %v, datagrams that came joined: %d", want, in.InJoined)
		}
		if c := p.config; !c.NoGSO && !c.NoGRO && !c.Plain && p.network == nil && !(gso && gro) {
			t.Log("this kernel has no GSO or no GRO: joining was not tested")
		}
	})
}

// Trains of one size are one system call each way, if they are not too many.
func TestATrainTakesOneCall(t *testing.T) {
	a, b := mustListen(t, Config{}), mustListen(t, Config{})
	defer a.Close()
	defer b.Close()
	if gso, _ := b.Offload(); !gso {
		t.Log("this kernel has no GSO: nothing to test")
		return
	}
	var want [][]byte
	for i := range maxCallDatagrams {
		want = append(want, append(make([]byte, 63), byte(i)))
	}
	in := a.NewRecvBatch()
	for try := uint64(1); ; try++ { // a busy system may deliver a train in parts, now and then
		before := a.Stats().InBatches
		send(t, b, a.LocalAddr(), want...)
		wantData(t, collect(t, a, in, len(want)), want)
		if s := b.Stats(); s.OutBatches != try || s.OutJoined != try*maxCallDatagrams {
			t.Fatalf("%d calls, %d joined, want %d and all", s.OutBatches, s.OutJoined, try)
		}
		s := a.Stats()
		if s.InJoined != try*maxCallDatagrams {
			t.Fatalf("%d of %d came joined", s.InJoined, try*maxCallDatagrams)
		}
		if s.InBatches == before+1 {
			break
		}
		if try == 100 {
			t.Fatalf("no train of a hundred came by one call, the last by %d", s.InBatches-before)
		}
	}
}

func TestBuffersAreAsGranted(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		if p.network != nil {
			return
		}
		small := p.open(t, Config{RecvBuffer: 32 << 10, SendBuffer: 64 << 10})
		if recv, send := small.Buffers(); recv != 32<<10 || send != 64<<10 {
			t.Errorf("buffers %d and %d, want what was asked", recv, send)
		}
		system := p.open(t, Config{RecvBuffer: -1, SendBuffer: -1})
		large := p.open(t, Config{})
		r0, s0 := system.Buffers()
		r1, s1 := large.Buffers()
		if r0 <= 0 || s0 <= 0 || r1 < r0 || s1 < s0 {
			t.Errorf("system's %d and %d, ours %d and %d", r0, s0, r1, s1)
		}
	})
}

// What finds the receive buffer full is counted by the kernel, and we tell.
func TestOverflowIsCounted(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		if p.config.Plain {
			return // package net does not give the count
		}
		a, b := p.open(t, Config{RecvBuffer: 4 << 10}), p.open(t, Config{})
		const n = 6000
		out := b.NewSendBatch()
		for range n {
			out.Append(make([]byte, 200), p.addr(a))
			if err := b.Write(out); err != nil {
				t.Fatal(err)
			}
		}
		in := a.NewRecvBatch()
		s := a.Stats()
		for end := patient.End(); ; s = a.Stats() { // a busy system may deliver some late
			if a.Read(in, time.Unix(1, 0)) != nil && s.InDropped+s.InDatagrams >= n {
				end.Stop()
				break
			}
		}
		s = a.Stats()
		if s.InDropped == 0 || s.InDatagrams == 0 || s.InDropped+s.InDatagrams != n {
			t.Errorf("dropped %d, delivered %d, want %d in all", s.InDropped, s.InDatagrams, n)
		}
		if a.Close(); a.Stats() != s {
			t.Errorf("the counters after Close are %+v, before %+v", a.Stats(), s)
		}
	})
}

// T34, over the wire: a link-local peer is known by its interface.
func TestALinkLocalPeerKeepsItsZone(t *testing.T) {
	promise.Keeps(t, "T34", "udp", 1)
	addr, ok := linkLocal(t)
	if !ok {
		t.Log("this machine has no link-local address: not tested over the wire")
		return
	}
	for _, k := range kinds() {
		if k.memory {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			p := &place{kind: k, route: route{listen: netip.AddrPortFrom(addr, 0).String(), reach: addr.String()}}
			a, b := p.open(t, Config{}), p.open(t, Config{})
			send(t, b, p.addr(a), []byte("x"))
			m := collect(t, a, a.NewRecvBatch(), 1)[0]
			if m.from != b.LocalAddr() || m.from.Addr().Zone() != addr.Zone() {
				t.Errorf("from %v, want %v", m.from, b.LocalAddr())
			}
			send(t, a, m.from, []byte("y"))
			collect(t, b, b.NewRecvBatch(), 1)
		})
	}
}

package udp

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"parley/internal/datagram"
)

// FuzzSplit joins and splits: whatever the kernel says of a buffer, each byte of
// it is delivered once and in order, or counted as truncated, and the counters agree.
func FuzzSplit(f *testing.F) {
	f.Add([]byte("aaaabbbbcc"), 4, 100)
	f.Add([]byte("aaaabbbbcc"), 4, 3)
	f.Add([]byte{}, 0, 1)
	f.Add([]byte("x"), -1, 1)
	f.Fuzz(func(t *testing.T, data []byte, segment, limit int) {
		limit = 1 + int(uint(limit)%MaxPayload)
		b := datagram.NewRecvBatch(1, limit)
		b.Add(netip.AddrPort{}, data, segment)
		// What a receiver without joining would have seen.
		var want [][]byte
		truncated := 0
		size := segment
		if size <= 0 || size >= len(data) {
			size = max(len(data), 1)
		}
		for rest := data; ; rest = rest[size:] {
			d := rest[:min(size, len(rest))]
			if len(d) <= limit {
				want = append(want, d)
			} else {
				truncated++
			}
			if len(rest) <= size {
				break
			}
		}
		if b.Len() != len(want) || int(b.Tally.Truncated) != truncated || b.More() != (len(want) > 0) {
			t.Fatalf("%d datagrams and %d truncated, want %d and %d", b.Len(), b.Tally.Truncated, len(want), truncated)
		}
		sum := 0
		for i, w := range want {
			m := b.Next()
			if m == nil || !bytes.Equal(m.Data, w) || cap(m.Data) != len(m.Data) {
				t.Fatalf("datagram %d is %v, want %x", i, m, w)
			}
			sum += len(w)
		}
		if b.Next() != nil || b.More() || int(b.Tally.Bytes) != sum {
			t.Fatalf("after the last: more %v, bytes %d, want %d", b.More(), b.Tally.Bytes, sum)
		}
	})
}

// FuzzOps runs a script of appends, writes and reads between three sockets in
// memory against a model that is a list.
func FuzzOps(f *testing.F) {
	f.Add([]byte{10, 20, 30, 1, 2, 40, 2})
	f.Add([]byte{255, 255, 254, 1, 2, 1, 2, 0, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		network := new(Network)
		sender, _ := network.Listen("127.0.0.1:1", Config{Batch: 3, MaxDatagram: 100})
		defer sender.Close()
		var peers [2]*Socket
		var in [2]*RecvBatch
		var waiting [2][][]byte
		for i := range peers {
			peers[i], _ = network.Listen("127.0.0.1:0", Config{Batch: 2 + i, MaxDatagram: 60})
			defer peers[i].Close()
			in[i] = peers[i].NewRecvBatch()
		}
		out := sender.NewSendBatch()
		var batch [2][][]byte
		for step, op := range script {
			switch op {
			case 0:
				out.Reset()
				batch = [2][][]byte{}
			case 1:
				if err := sender.Write(out); err != nil {
					t.Fatal(err)
				}
				for i := range batch {
					waiting[i] = append(waiting[i], batch[i]...)
				}
				batch = [2][][]byte{}
			case 2:
				for i, s := range peers {
					// A look that finds only datagrams that are too large ends
					// with the deadline, like one that finds nothing.
					for s.Read(in[i], time.Unix(1, 0)) == nil || queuedIn(peers[i:i+1]) > 0 {
						for m := in[i].Next(); m != nil; m = in[i].Next() {
							if len(waiting[i]) == 0 || !bytes.Equal(m.Data, waiting[i][0]) {
								t.Fatalf("step %d: peer %d got %x", step, i, m.Data)
							}
							waiting[i] = waiting[i][1:]
						}
					}
					if len(waiting[i]) != 0 {
						t.Fatalf("step %d: peer %d lacks %d datagrams", step, i, len(waiting[i]))
					}
				}
			default:
				d := bytes.Repeat([]byte{byte(step)}, int(op)/2)
				to := int(op) % 2
				fits := out.Free() != nil && len(d) <= 100
				if out.Append(d, peers[to].LocalAddr()) != fits {
					t.Fatalf("step %d: Append of %d bytes, want %v", step, len(d), fits)
				}
				if fits && len(d) <= 60 { // the receiver's limit
					batch[to] = append(batch[to], d)
				}
			}
		}
		s := sender.Stats()
		if s.OutLost != 0 || s.OutDatagrams != given(peers[0])+given(peers[1])+uint64(queuedIn(peers[:])) {
			t.Fatalf("sent %d, lost %d, received %d and %d", s.OutDatagrams, s.OutLost, given(peers[0]), given(peers[1]))
		}
	})
}

// given returns how many datagrams a socket was given.
func given(s *Socket) uint64 {
	st := s.Stats()
	return st.InDatagrams + st.InTruncated + st.InDropped
}

// queuedIn returns how many datagrams wait in memory sockets.
func queuedIn(sockets []*Socket) (n int) {
	for _, s := range sockets {
		q := s.driver.(*memory).queue
		q.mu.Lock()
		n += q.count - q.taken
		q.mu.Unlock()
	}
	return n
}

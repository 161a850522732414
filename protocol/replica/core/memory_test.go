package core

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"parley/internal/kit"
	"parley/internal/promise"
)

// heapInUse returns the bytes of the heap that are reachable.
func heapInUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A server's connection is in the allocator's class of 2,048 bytes, of which it takes 8 itself;
// the next class has 2,304.
func TestAConnectionIsTwoKilobytes(t *testing.T) {
	if n := unsafe.Sizeof(Conn{}); n > 2048-8 {
		t.Errorf("it has %d bytes", n)
	}
}

// With thousands of connections most time goes into reading their memory. The fields that an unreliable message and its
// answer use lie in so many lines of 64 bytes. Code that uses one more field for each message adds its name here.
func TestHotFieldsLieTogether(t *testing.T) {
	const most = 12
	lines := map[uintptr]string{}
	names := []string{"member", "mux"}
	for _, name := range []string{
		"cfg", "state", "guest", "peer", "now", "born", "heard", "syncAt", "clockStart", "near", "buffers",
		"ending", "parts", "client", "control", "events", "loose", "stats.In", "stats.Out",
		"receiver.acks.due", "receiver.acks.count", "receiver.cfg", "receiver.pool", "receiver.born", "receiver.held",
		"receiver.any", "receiver.stalled", "receiver.seen", "receiver.lent", "receiver.ready", "receiver.stats.In", "receiver.stats.Delivered",
		"sender.cfg", "sender.born", "sender.next", "sender.waiting", "sender.failed", "sender.unacked", "sender.timerAt", "sender.fastAt",
		"sender.resend", "sender.copies", "sender.newestAcked", "sender.reliable", "sender.path", "sender.early.sent", "sender.early.rateEnd",
	} {
		names = append(names, "endpoint."+name)
	}
	for _, name := range names {
		at, size := fieldOf(t, name)
		at += 8 // which the allocator takes at the start
		for line := at / 64; line <= (at+size-1)/64; line++ {
			lines[line] += " " + name
		}
	}
	if len(lines) > most {
		t.Errorf("a message touches %d lines of a connection, want %d:", len(lines), most)
		for line, names := range lines {
			t.Logf("line %2d:%s", line, names)
		}
	}
}

// fieldOf returns where in a Conn a field is, and its size.
func fieldOf(t *testing.T, path string) (at, size uintptr) {
	in := reflect.TypeFor[Conn]()
	for name := range strings.SplitSeq(path, ".") {
		f, ok := in.FieldByName(name)
		if !ok {
			t.Fatalf("there is no %s", path)
		}
		at, in = at+f.Offset, f.Type
	}
	return at, in.Size()
}

// T11: a peer that acknowledges nothing costs at most 1 MiB, also where the messages are
// so small that what keeps them is larger than they are.
func TestMessagesThatNoOneTakesHoldOneMegabyteAtMost(t *testing.T) {
	promise.Keeps(t, "T11", "replica", 1)
	if kit.Race {
		t.Skip("the race detector has a heap of its own")
	}
	for _, tt := range []struct {
		name string
		mode Mode
		size int
		min  int // messages that are taken
	}{
		{"tiny ordered", Ordered, 1, 4000},
		{"tiny reliable", Reliable, 1, 4000},
		{"tiny unreliable", Unreliable, 1, 1000},
		{"ordered of a packet", Ordered, 1100, 300},
		{"reliable of a packet", Reliable, 1100, 150},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDrivenClient("open")
			data := make([]byte, tt.size)
			before := heapInUse()
			taken := 0
			var err error
			for ; err == nil && taken < 1<<20; taken++ {
				err = d.e.Send(d.now, tt.mode, "m", data)
			}
			grown := heapInUse() - before
			if !errors.Is(err, ErrWindowFull) || taken < tt.min {
				t.Errorf("%d were taken, then %v", taken, err)
			}
			if grown > 1<<20 {
				t.Errorf("%d messages of %d bytes hold %d bytes", taken, tt.size, grown)
			}
			t.Logf("%d messages hold %d bytes", taken, grown)
			runtime.KeepAlive(d)
		})
	}
}

// T11: nor does an application that does not read cost more, whatever the peer sends.
func TestMessagesThatNoOneReadsHoldOneMegabyteAtMost(t *testing.T) {
	if kit.Race {
		t.Skip("the race detector has a heap of its own")
	}
	for _, tt := range []struct {
		name              string
		reliable, ordered bool
		size              int
		hole              bool // the first never comes
	}{
		{"tiny unreliable", false, false, 0, false},
		{"tiny reliable", true, false, 0, false},
		{"tiny ordered", true, true, 0, false},
		{"tiny ordered behind a hole", true, true, 0, true},
		{"ordered of a packet behind a hole", true, true, 1100, true},
		{"reliable of a packet", true, false, 1100, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDrivenClient("open")
			before := heapInUse()
			p := Packet{Kind: KindMessage, Reliable: tt.reliable, Ordered: tt.ordered, Name: []byte("m"), Data: make([]byte, tt.size)}
			if tt.hole {
				d.next++
			}
			for i := range promise.Keeps(t, "T11", "replica", 20_000) {
				p.Sequence, p.Time = d.next, d.clock()
				if tt.ordered {
					p.OrderLink = 1
				}
				if tt.ordered && i == 0 && !tt.hole {
					p.OrderLink = 0
				}
				d.next++
				d.e.HandleDatagram(d.now, serverAddr, p.AppendTo(d.buf[:0]))
				for _, _, ok := d.e.PollTransmit(d.buf[:]); ok; _, _, ok = d.e.PollTransmit(d.buf[:]) {
				}
			}
			if grown := heapInUse() - before; grown > 1<<20 {
				t.Errorf("%d bytes are held", grown)
			} else {
				t.Logf("%d bytes are held: %+v", grown, d.e.Stats().Reliable.ReceiveStats)
			}
			if d.e.State() != StateOpen {
				t.Errorf("it is %v", d.e.State())
			}
			runtime.KeepAlive(d)
		})
	}
}

// A long queue is worked off as fast a message as a short one.
func BenchmarkWorkOffOrderedMessages(b *testing.B) {
	for _, n := range []int{100, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := newDrivenClient("open")
			for b.Loop() {
				for range n {
					if err := d.e.Send(d.now, Ordered, "m", []byte{1}); err != nil {
						b.Fatal(err)
					}
				}
				for acked := 0; acked < n; {
					size, _, ok := d.e.PollTransmit(d.buf[:])
					if !ok {
						d.now = d.now.Add(time.Millisecond) // it is paced
						d.e.HandleTimeout(d.now)
						continue
					}
					var p Packet
					if p.Parse(FromClient, d.buf[:size]) && p.Kind == KindMessage {
						ack := Packet{Kind: KindAck, Acked: p.Sequence}
						d.e.HandleDatagram(d.now, serverAddr, ack.AppendTo(nil))
						acked++
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*b.N), "ns/message")
		})
	}
}

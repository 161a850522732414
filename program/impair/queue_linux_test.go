package impair

import (
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/patient"
	"parley/simnet"
)

// What a greedy sender has under way is the queue and what is in flight: no kernel's buffer hides a longer queue.
func TestTheQueueOfANarrowStreamIsAsLongAsItSays(t *testing.T) {
	for _, rate := range []int{100_000, 400_000, 2_000_000} {
		defer patient.End().Stop()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		const delay, queue = 20 * time.Millisecond, 200 * time.Millisecond
		p := start(t, Config{Target: l.Addr().String(), TCP: true, Down: simnet.Profile{Rate: rate, Delay: delay, Queue: queue}})
		client := dialTCP(t, p)
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		var written atomic.Int64
		go func() {
			b := make([]byte, 500)
			for {
				n, err := server.Write(b)
				if written.Add(int64(n)); err != nil {
					return
				}
			}
		}()
		raw, err := server.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var waits []time.Duration
		got, enough := 0, rate/8*3/2 // a second and a half
		buf := make([]byte, segmentBytes)
		for got < enough {
			n, err := client.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			got += n
			// What the sender's own kernel holds is not under way. It is asked last: so what is written meanwhile is not taken for a queue.
			unsent := 0
			underWay := written.Load()
			raw.Control(func(fd uintptr) { unsent, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
			underWay -= int64(unsent + got)
			if got > enough/4 {
				waits = append(waits, time.Duration(float64(underWay*8)/float64(rate)*float64(time.Second))-delay)
			}
		}
		server.(*net.TCPConn).SetLinger(0) // what it still has to send would take its time
		server.Close()
		client.Close()
		slices.Sort(waits)
		// The half of them, since a machine that is busy elsewhere makes some long and some short. They are measured when something
		// has just left the queue: at 100 kbit/s that is half of it.
		t.Logf("%d bit/s: %v, %v, %v", rate, waits[len(waits)/10], waits[len(waits)/2], waits[len(waits)*9/10])
		if got := waits[len(waits)/2]; got < queue/4 || got > 2*queue {
			t.Errorf("at %d bit/s the queue is %v long, want about %v", rate, got, queue)
		}
	}
}

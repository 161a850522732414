package replica

import (
	"fmt"
	"testing"

	"parley/internal/shell/shelltest"
)

// BenchmarkThousandConnections is the bar of the server: 1,000 connections, each
// of which sends 32 bytes and receives 200, 20 times a second. CPU time is that of
// the whole process, the collector's included, and is held against a process with
// a bare loop of recvmmsg and sendmmsg that gets and sends as many datagrams of the
// same sizes in the same milliseconds. Run it with -benchtime 5x: a round takes
// two seconds.
func BenchmarkThousandConnections(b *testing.B) {
	for _, tt := range []struct {
		name string
		mode Mode
	}{{"unreliable", Unreliable}, {"reliable", Reliable}, {"ordered", Ordered}} {
		b.Run(tt.name, func(b *testing.B) { benchThousand(b, tt.mode) })
	}
}

func benchThousand(b *testing.B, mode Mode) {
	var answer [answerBytes]byte
	s, err := Listen("127.0.0.1:0", Config{}, func(c *Conn, ev Event) {
		switch ev.Kind {
		case EventMessage:
			if err := c.Send(mode, answerName, answer[:]); err != nil {
				panic(err)
			}
		case EventClosed:
			panic(ev.Close)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	before := shelltest.LiveHeap()
	bare := shelltest.StartHelper(b, loadVariable, fmt.Sprint("bare ", mode))
	crowds := shelltest.StartHelper(b, loadVariable, "crowd")
	var addr, done string
	bare.Ask(b, "listen", &addr)
	crowds.Ask(b, fmt.Sprint("connect ", s.Addr(), " ", uint8(mode)), &done)
	crowds.Ask(b, fmt.Sprint("bare ", addr, " ", uint8(mode)), &done)
	var sent, got, bareSent, bareGot [2]int // all, and in the last round
	round := func(seconds int) {
		crowds.Ask(b, fmt.Sprint("run ", seconds), &sent[1], &got[1], &bareSent[1], &bareGot[1])
		for _, x := range []*[2]int{&sent, &got, &bareSent, &bareGot} {
			x[0] += x[1]
		}
	}
	round(1) // so that round trips are known and pools are filled

	bare.Compare(b, func() shelltest.Burden { return shelltest.BurdenOf(s.Stats().Socket) }, func() { round(2) })
	b.ReportMetric(float64(shelltest.LiveHeap()-before)/crowdSize, "B/connection")
	b.ReportMetric(100*float64(sent[0]-got[0])/float64(sent[0]), "%lost")
	// What finds a full socket buffer, on a machine that has other work to do, is
	// lost to the bare loop and to unreliable messages.
	st := s.Stats()
	b.ReportMetric(100*float64(st.Socket.InDropped)/float64(st.Socket.InDatagrams), "%dropped")
	_ = s.Do(func() { // goodbyes are none of the benchmark's business
		s.handle = func(*Conn, Event) {}
	})
	defer s.Close()
	if st.Conns != crowdSize || mode != Unreliable && got != sent {
		b.Errorf("%d of %d answers; the server counts %+v", got[0], sent[0], st)
	}
}

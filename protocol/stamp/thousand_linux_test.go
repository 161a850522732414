package stamp

import (
	"fmt"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/shell/shelltest"
	"parley/protocol/stamp/core"
)

// BenchmarkThousandConnections is the bar of the server: 1,000 connections, to each of
// which it sends 200 bytes 20 times a second, as a game does that ticks: to all at once. CPU
// time is that of the whole process, the collector's included, and is held against a process
// with a bare loop of recvmmsg and sendmmsg that sends and gets as many datagrams of the same
// sizes in the same seconds. Run it with -benchtime 5x: a round takes two seconds.
func BenchmarkThousandConnections(b *testing.B) {
	for _, mode := range []Mode{Unreliable, Reliable, Ordered} {
		b.Run(mode.String(), func(b *testing.B) { benchThousand(b, mode) })
	}
}

func benchThousand(b *testing.B, mode Mode) {
	s, err := Listen("127.0.0.1:0", Config{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	before := shelltest.LiveHeap()
	bare, crowds := shelltest.StartHelper(b, loadVariable, "bare"), shelltest.StartHelper(b, loadVariable, "crowd")
	var addr, done string
	bare.Ask(b, "listen", &addr)
	crowds.Ask(b, fmt.Sprint("connect ", s.Addr(), " ", mode), &done)
	crowds.Ask(b, fmt.Sprint("bare ", addr, " ", mode), &done)

	var data [pushedBytes]byte
	sent, got := 0, 0
	push := func() {
		for c := range s.Conns() {
			if err := c.Send(mode, data[:]); err != nil {
				b.Error(err)
			}
			sent++
		}
	}
	const every = time.Second / crowdRate
	round := func(seconds int) {
		ticks := seconds * crowdRate
		pushed := make(chan struct{})
		go func() {
			defer close(pushed)
			shelltest.Tick(ticks, every, func() { s.Do(push) })
		}()
		time.Sleep(every / 2) // so that one ticks in the pauses of the other
		bare.Ask(b, fmt.Sprintf("push %d %d %d", core.HeaderBytes+pushedBytes, ticks, every.Milliseconds()), &done)
		var here, there int
		crowds.Ask(b, fmt.Sprint("run ", 1000*seconds+300), &here, &there) // the last ones are late
		got += here
		patient.Value(pushed)
	}
	round(1) // so that round trips are known and pools are filled

	bare.Compare(b, func() shelltest.Burden { return shelltest.BurdenOf(s.Stats().Socket) }, func() { round(2) })
	b.ReportMetric(float64(shelltest.LiveHeap()-before)/crowdSize, "B/connection")
	b.ReportMetric(100*float64(sent-got)/float64(sent), "%lost")
	// What finds a full socket buffer, on a machine that has other work to do, is
	// lost to the bare loop and to unreliable packets.
	st := s.Stats()
	b.ReportMetric(100*float64(st.Socket.InDropped)/float64(st.Socket.InDatagrams), "%dropped")
	if st.Conns != crowdSize || mode != Unreliable && got != sent {
		b.Errorf("%d of %d packets came; the server counts %+v", got, sent, st)
	}
}

package udp

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/datagram"
	"parley/internal/patient"
	"parley/internal/promise"
)

// startLoop starts a loop that the test's end closes.
func startLoop(t *testing.T, s *Socket, core datagram.Core, c datagram.LoopConfig) *datagram.Loop {
	t.Helper()
	l := datagram.StartLoop(s, core, c)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

func TestATurnCallsInOrderWithOneClockRead(t *testing.T) {
	network := new(Network)
	s, _ := network.Listen("127.0.0.1:1", Config{})
	peer, _ := network.Listen("127.0.0.1:2", Config{})
	core := &scriptCore{}
	var nows []time.Time
	note := func(now time.Time) { nows = append(nows, now) }
	due, left := true, 2
	core.datagram = func(now time.Time, _ netip.AddrPort, _ []byte) { note(now) }
	core.deadline = func() (time.Time, bool) { return time.Unix(1, 0), due }
	core.timeout = func(now time.Time) { note(now); due = false }
	core.transmit = func([]byte) (int, netip.AddrPort, bool) {
		left--
		return 0, peer.LocalAddr(), left >= 0
	}
	var what datagram.Next
	var until time.Time
	l := datagram.NewLoop(captive{s, func(turn datagram.Turn) {
		in := s.NewRecvBatch()
		if err := s.Read(in, time.Time{}); err != nil {
			t.Error(err)
		}
		what, until = turn(&in.RecvBatch, true)
	}}, core, datagram.LoopConfig{AfterTurn: func(now time.Time) {
		note(now)
		core.note("hook")
	}})
	defer s.Close()
	defer peer.Close()
	send(t, peer, s.LocalAddr(), []byte("a"), []byte("b"), []byte("c"))
	if err := l.Post(func() { core.note("command") }); err != nil {
		t.Fatal(err)
	}
	l.Run()
	got := strings.Join(core.log, " ")
	if want := "datagram datagram datagram command timeout hook transmit transmit"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, now := range nows {
		if now != nows[0] {
			t.Errorf("the calls of one turn have times %v", nows)
		}
	}
	if what != datagram.Wait || !until.IsZero() {
		t.Errorf("after the turn: %v until %v, want a wait without end", what, until)
	}
	if got, want := l.Stats(), (datagram.LoopStats{Turns: 1, Wakes: 1, Timeouts: 1, Commands: 1}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
	if n := peer.Stats().InDatagrams; n != 0 {
		t.Errorf("peer read %d datagrams by itself", n)
	}
	if all := collect(t, peer, peer.NewRecvBatch(), 2); len(all[0].data) != 0 {
		t.Errorf("the transmitted datagram has %d bytes, want 0", len(all[0].data))
	}
}

func TestALoopEchoesOverEverySocket(t *testing.T) {
	for _, batch := range []int{0, 1, 2, 3} { // small ones leave datagrams behind
		t.Run(fmt.Sprintf("in batches of %d", batch), func(t *testing.T) {
			eachPlace(t, func(t *testing.T, p *place) { echoes(t, p, Config{Batch: batch}) })
		})
	}
}

func echoes(t *testing.T, p *place, c Config) {
	server, client := p.open(t, c), p.open(t, Config{})
	startLoop(t, server, newScriptEcho(), datagram.LoopConfig{})
	in := client.NewRecvBatch()
	eachSeed(t, 6, func(t *testing.T, r *rand.Rand) {
		want := randomDatagrams(r, 1+r.IntN(150))
		send(t, client, p.addr(server), want...)
		wantData(t, collect(t, client, in, len(want)), want)
	})
}

// The memory socket under synctest has exact time, so timers fire exactly then.
func TestTimersFireExactlyInVirtualTime(t *testing.T) {
	eachSeed(t, 20, func(t *testing.T, r *rand.Rand) {
		synctest.Test(t, func(t *testing.T) {
			network := new(Network)
			s, _ := network.Listen("127.0.0.1:0", Config{})
			core := newTimerCore(t)
			exact := core.timeout
			core.timeout = func(now time.Time) {
				if late := now.Sub(core.times[0]); late > 0 {
					t.Errorf("timeout %v late", late)
				}
				exact(now)
			}
			start := time.Now()
			count := 1 + r.IntN(200)
			for range count {
				core.add(start.Add(time.Duration(1 + r.Int64N(int64(10*time.Second)))))
			}
			l := datagram.StartLoop(s, core, datagram.LoopConfig{})
			time.Sleep(5 * time.Second)
			// Timers may be set to before the one that the loop sleeps for.
			more := r.IntN(100)
			if err := l.Do(func() {
				for range more {
					core.add(time.Now().Add(time.Duration(1 + r.Int64N(int64(10*time.Second)))))
				}
			}); err != nil {
				t.Error(err)
			}
			time.Sleep(15 * time.Second)
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if core.fired != count+more || len(core.times) != 0 {
				t.Errorf("%d of %d timers fired, %d are left", core.fired, count+more, len(core.times))
			}
		})
	})
}

func TestTimersFireInOrderOverEverySocket(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		core := newTimerCore(t)
		done := make(chan struct{})
		check := core.timeout
		core.timeout = func(now time.Time) {
			if check(now); len(core.times) == 0 {
				close(done)
			}
		}
		l := startLoop(t, p.open(t, Config{}), core, datagram.LoopConfig{})
		r := seeded(t)
		if err := l.Do(func() {
			now := time.Now()
			for range 100 {
				core.add(now.Add(time.Duration(r.IntN(10_000)) * time.Microsecond))
			}
		}); err != nil {
			t.Fatal(err)
		}
		patient.Value(done)
		if got := l.Stats().Timeouts; got != 100 {
			t.Errorf("%d timeouts, want 100", got)
		}
	})
}

// A datagram or a command may set a timer earlier than the one that the loop
// sleeps for.
func TestATimerThatMovesEarlierWakesTheLoopInTime(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		core := newTimerCore(t)
		fired := make(chan struct{})
		check := core.timeout
		core.timeout = func(now time.Time) { check(now); fired <- struct{}{} }
		core.datagram = func(now time.Time, _ netip.AddrPort, _ []byte) { core.add(now.Add(time.Millisecond)) }
		server, client := p.open(t, Config{}), p.open(t, Config{})
		l := startLoop(t, server, core, datagram.LoopConfig{})
		// First one in an hour, for which the loop parks; then one in a
		// millisecond. If the armed deadline did not follow, this would hang.
		if err := l.Do(func() { core.add(time.Now().Add(time.Hour)) }); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := l.Do(func() { core.add(time.Now().Add(time.Millisecond)) }); err != nil {
				t.Fatal(err)
			}
			patient.Value(fired)
			send(t, client, p.addr(server), []byte("x"))
			patient.Value(fired)
		}
	})
}

// Datagrams that were there before the loop, more than a batch takes, are all
// handled although nothing comes after them to wake it.
func TestALoopLeavesNothingInTheSocket(t *testing.T) {
	for _, batch := range []int{1, 2, 3, 50} {
		t.Run(fmt.Sprintf("in batches of %d", batch), func(t *testing.T) {
			eachPlace(t, func(t *testing.T, p *place) {
				server, client := p.open(t, Config{Batch: batch}), p.open(t, Config{})
				const n = 100
				out := client.NewSendBatch()
				for i := range n { // one by one, so that they are not joined
					out.Append([]byte{byte(i)}, p.addr(server))
					if err := client.Write(out); err != nil {
						t.Fatal(err)
					}
				}
				core := &scriptCore{keepNoLog: true}
				done := make(chan struct{})
				next := 0
				core.datagram = func(_ time.Time, from netip.AddrPort, b []byte) {
					if from.Port() != client.LocalAddr().Port() {
						return // another program's, for one that had this port before
					}
					if int(b[0]) != next {
						t.Errorf("datagram %d, want %d", b[0], next)
					}
					if next++; next == n {
						close(done)
					}
				}
				startLoop(t, server, core, datagram.LoopConfig{})
				patient.Value(done)
			})
		})
	}
}

// A core with more to send than a turn takes goes on in the next turn, though
// nothing wakes the loop, and in the last turns when it is closed.
func TestALongTransmissionGoesOnByItself(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s, sink := p.open(t, Config{}), p.open(t, Config{Batch: 1, RecvBuffer: 1 << 12})
		core := &scriptCore{keepNoLog: true}
		const n = datagram.MaxTurnTransmits + 100
		left := n
		var dry chan struct{}
		core.transmit = func([]byte) (int, netip.AddrPort, bool) {
			if left == 0 {
				if dry != nil {
					close(dry)
					dry = nil
				}
				return 0, netip.AddrPort{}, false
			}
			left--
			return 10, p.addr(sink), true
		}
		dry = make(chan struct{})
		ended := dry
		l := datagram.StartLoop(s, core, datagram.LoopConfig{})
		patient.Value(ended)
		// More than the turn that stops and the last turn take.
		const more = 3 * datagram.MaxTurnTransmits
		if err := l.Post(func() { left = more; l.Stop() }); err != nil {
			t.Error(err)
		}
		patient.Value(l.Done())
		if got := s.Stats().OutDatagrams; got != n+more {
			t.Errorf("%d datagrams were sent, want %d", got, n+more)
		}
	})
}

// T28, for a loop: no core can make a turn endless, nor turns that do nothing
// take a whole CPU.
func TestACoreThatAsksForThePastIsSlowedDown(t *testing.T) {
	promise.Keeps(t, "T28", "udp", 1)
	synctest.Test(t, func(t *testing.T) {
		network := new(Network)
		s, _ := network.Listen("127.0.0.1:0", Config{})
		core := &scriptCore{keepNoLog: true}
		core.deadline = func() (time.Time, bool) { return time.Unix(1, 0), true }
		l := datagram.StartLoop(s, core, datagram.LoopConfig{})
		time.Sleep(100*time.Millisecond + datagram.StuckPause/2)
		stats := l.Stats()
		if stats.StuckTimers < 100 || stats.StuckTimers > 102 {
			t.Errorf("%d delayed turns in 100 ms, want one a millisecond", stats.StuckTimers)
		}
		if most := uint64(datagram.MaxStuckTurns + 110); stats.Turns > most {
			t.Errorf("%d turns, want at most %d", stats.Turns, most)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestACoreThatAlwaysTransmitsKeepsNeitherCommandsNorCloseWaiting(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		if p.via != "IPv4" {
			return // it takes its time, and the route does not matter
		}
		s, sink := p.open(t, Config{}), p.open(t, Config{Batch: 1, RecvBuffer: 1 << 12})
		core := &scriptCore{keepNoLog: true}
		core.transmit = func(buf []byte) (int, netip.AddrPort, bool) { return 10, p.addr(sink), true }
		l := datagram.StartLoop(s, core, datagram.LoopConfig{})
		for range 3 {
			if err := l.Do(func() {}); err != nil {
				t.Error(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		stats := s.Stats()
		if turns := l.Stats().Turns; stats.OutDatagrams+stats.OutLost > (turns+datagram.MaxFinalTurns)*datagram.MaxTurnTransmits {
			t.Errorf("%d datagrams in %d turns", stats.OutDatagrams, turns)
		}
	})
}

// A flood larger than a turn is cut: a timer that is due waits for no more
// than LoopConfig.TurnDatagrams datagrams, and for no more than one batch when
// it becomes due while that is handled.
func TestAFloodDoesNotStarveTimersAndCommands(t *testing.T) {
	const most = 16
	eachPlace(t, func(t *testing.T, p *place) {
		s := p.open(t, Config{})
		core := newTimerCore(t)
		since, worst := 0, 0 // datagrams since the last chance of the timers
		seen := 0
		core.datagram = func(time.Time, netip.AddrPort, []byte) {
			seen++
			since++
			worst = max(worst, since)
		}
		deadline := core.deadline
		core.deadline = func() (time.Time, bool) { since = 0; return deadline() }
		reached, told := make(chan struct{}), false
		again := core.timeout
		core.timeout = func(now time.Time) {
			again(now)
			if core.fired >= 60 && seen > 0 && !told { // the flood may begin late
				told = true
				close(reached)
			}
			core.add(now.Add(100 * time.Microsecond))
		}
		core.add(time.Now())
		l := startLoop(t, s, core, datagram.LoopConfig{TurnDatagrams: most})
		stop, flooded := make(chan struct{}), make(chan struct{})
		flooder := p.open(t, Config{})
		go func() {
			defer close(flooded)
			out := flooder.NewSendBatch()
			for {
				select {
				case <-stop:
					return
				default:
				}
				for out.Append([]byte("flood"), p.addr(s)) {
				}
				if err := flooder.Write(out); err != nil {
					t.Error(err)
					return
				}
			}
		}()
		patient.Value(reached)
		for range 20 {
			if err := l.Do(func() {}); err != nil {
				t.Error(err)
			}
		}
		close(stop)
		patient.Value(flooded)
		if err := l.Do(func() {
			if worst > most {
				t.Errorf("%d datagrams were handled in a row, want at most %d", worst, most)
			}
			if seen == 0 {
				t.Error("the flood did not arrive")
			}
		}); err != nil {
			t.Error(err)
		}
	})
}

func TestCommandsRunOnceInOrderAndAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := new(Network).Listen("127.0.0.1:0", Config{})
		l := datagram.NewLoop(s, &scriptCore{}, datagram.LoopConfig{Commands: 4}) // not started: nothing drains
		var ran []int
		note := func(i int) func() { return func() { ran = append(ran, i) } }
		for i := range 4 {
			if err := l.Post(note(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Post(note(-1)); err != datagram.ErrQueueFull {
			t.Fatalf("fifth command: %v, want datagram.ErrQueueFull", err)
		}
		if got := l.Stats().QueueFull; got != 1 {
			t.Errorf("QueueFull %d, want 1", got)
		}
		waited := make(chan error)
		go func() { waited <- l.Do(note(4)) }()
		synctest.Wait() // until it waits for room
		go l.Run()
		if err := <-waited; err != nil {
			t.Errorf("Do on a full queue: %v", err)
		}
		if err := l.Post(func() {
			// A command may post; that one runs in a later turn.
			if err := l.Post(note(6)); err != nil {
				t.Error(err)
			}
			ran = append(ran, 5)
		}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if want := []int{0, 1, 2, 3, 4, 5, 6}; !slices.Equal(ran, want) {
			t.Errorf("ran %v, want %v", ran, want)
		}
		if err := l.Post(note(-1)); err != datagram.ErrClosed {
			t.Errorf("Post after Close: %v", err)
		}
		if err := l.Do(note(-1)); err != datagram.ErrClosed {
			t.Errorf("Do after Close: %v", err)
		}
	})
}

func TestDoThatWaitsForRoomEndsWhenTheLoopStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := new(Network).Listen("127.0.0.1:0", Config{})
		l := datagram.NewLoop(s, &scriptCore{}, datagram.LoopConfig{Commands: 1})
		if err := l.Post(func() {}); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error)
		go func() { waited <- l.Do(func() { t.Error("a refused command was run") }) }()
		synctest.Wait()
		l.Stop()
		if err := <-waited; err != datagram.ErrClosed {
			t.Errorf("Do: %v, want ErrClosed", err)
		}
		go l.Run()
		<-l.Done()
	})
}

func TestCloseSendsWhatTheCoreHasLeft(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s, peer := p.open(t, Config{}), p.open(t, Config{})
		core := &scriptCore{keepNoLog: true}
		left := 0
		core.transmit = func(buf []byte) (int, netip.AddrPort, bool) {
			if left == 0 {
				return 0, netip.AddrPort{}, false
			}
			left--
			return copy(buf, "goodbye"), p.addr(peer), true
		}
		l := datagram.StartLoop(s, core, datagram.LoopConfig{})
		if err := l.Post(func() { left = 100 }); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
		if all := collect(t, peer, peer.NewRecvBatch(), 100); string(all[99].data) != "goodbye" {
			t.Errorf("got %q", all[99].data)
		}
		select {
		case <-l.Done():
		default:
			t.Error("Done is not closed after Close")
		}
	})
}

func TestStopFromTheLoopItself(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		var l *datagram.Loop
		ready := make(chan struct{})
		core := &scriptCore{keepNoLog: true}
		core.datagram = func(time.Time, netip.AddrPort, []byte) { patient.Value(ready); l.Stop() }
		s, peer := p.open(t, Config{}), p.open(t, Config{})
		l = datagram.StartLoop(s, core, datagram.LoopConfig{})
		close(ready)
		send(t, peer, p.addr(s), []byte("stop"))
		patient.Value(l.Done())
		if err := l.Err(); err != nil {
			t.Errorf("a loop that was stopped ends with %v", err)
		}
	})
}

func TestALoopWhoseSocketIsClosedEndsWithThatError(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		s := p.open(t, Config{})
		var told error
		l := datagram.StartLoop(s, &scriptCore{keepNoLog: true}, datagram.LoopConfig{Ended: func(err error) { told = err }})
		if l.Err() != nil {
			t.Error("a loop that runs has an error")
		}
		s.Close()
		patient.Value(l.Done())
		if !errors.Is(l.Err(), ErrClosed) || !errors.Is(l.Close(), ErrClosed) {
			t.Errorf("ended with %v, want ErrClosed", l.Err())
		}
		if told != l.Err() {
			t.Errorf("its owner was told %v", told)
		}
	})
}

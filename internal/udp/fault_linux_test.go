package udp

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"parley/internal/datagram"
	"parley/internal/patient"
	"parley/internal/promise"
)

// faultyKernel puts errors between a socket and the real kernel.
type faultyKernel struct {
	linuxKernel
	onRecv func(msgs []unix.Mmsghdr) syscall.Errno                   // 0 goes on
	onSend func(msgs []unix.Mmsghdr) (pass int, errno syscall.Errno) // pass the first messages, or fail
}

func (k *faultyKernel) recvmmsg(fd uintptr, msgs []unix.Mmsghdr) (int, syscall.Errno) {
	if k.onRecv != nil {
		if errno := k.onRecv(msgs); errno != 0 {
			return -1, errno
		}
	}
	return k.linuxKernel.recvmmsg(fd, msgs)
}

func (k *faultyKernel) sendmmsg(fd uintptr, msgs []unix.Mmsghdr) (int, syscall.Errno) {
	if k.onSend != nil {
		pass, errno := k.onSend(msgs)
		if errno != 0 {
			return -1, errno
		}
		msgs = msgs[:pass]
	}
	return k.linuxKernel.sendmmsg(fd, msgs)
}

func (p *place) openFaulty(t *testing.T, k *faultyKernel) *Socket {
	t.Helper()
	s := p.open(t, Config{Gather: -1}) // many calls, each of which may fail
	s.driver.(*batched).kernel = k
	return s
}

// isJoined reports whether a message carries more than one datagram.
func isJoined(m *unix.Mmsghdr) bool { return m.Hdr.Controllen != 0 }

// segmentOf returns the size of the datagrams of a joined message.
func segmentOf(m *unix.Mmsghdr) int {
	return int(*(*uint16)(unsafe.Add(unsafe.Pointer(m.Hdr.Control), unix.SizeofCmsghdr)))
}

// onBatched runs f over the batched sockets only.
func onBatched(t *testing.T, f func(t *testing.T, p *place)) {
	t.Helper()
	eachPlace(t, func(t *testing.T, p *place) {
		if p.network == nil && !p.config.Plain {
			f(t, p)
		}
	})
}

// T61: ECONNREFUSED, ENOBUFS, EMSGSIZE, EAGAIN, EPERM and the other transient
// errors at 1% each, on sending and (but for EAGAIN, which there means that
// nothing came) on receiving: the loop lives, and everything that no error hit is
// delivered once and in order.
func TestALoopSurvivesSocketFaults(t *testing.T) {
	promise.Keeps(t, "T61", "udp", 1)
	sendFaults := []syscall.Errno{unix.ECONNREFUSED, unix.ENOBUFS, unix.EMSGSIZE, unix.EAGAIN, unix.EPERM,
		unix.EINTR, unix.EHOSTUNREACH, unix.ENETUNREACH}
	recvFaults := []syscall.Errno{unix.ECONNREFUSED, unix.ENOBUFS, unix.EPERM, unix.EINTR, unix.EHOSTUNREACH, unix.ENETUNREACH}
	onBatched(t, func(t *testing.T, p *place) {
		eachSeed(t, 4, func(t *testing.T, r *rand.Rand) {
			var injected datagram.Faults
			dice := rand.New(rand.NewPCG(r.Uint64(), 1)) // the loop's own, r stays the client's
			draw := func(faults []syscall.Errno) syscall.Errno {
				if i := dice.IntN(100); i < len(faults) {
					return faults[i]
				}
				return 0
			}
			var recvInjected datagram.Faults
			server := p.openFaulty(t, &faultyKernel{
				onRecv: func([]unix.Mmsghdr) syscall.Errno {
					errno := draw(recvFaults)
					recvInjected[faultOfErrno(errno)]++
					return errno
				},
				// Faults strike at any message of a call: those before it pass.
				onSend: func(msgs []unix.Mmsghdr) (int, syscall.Errno) {
					for i := range msgs {
						if errno := draw(sendFaults); errno != 0 {
							if i > 0 {
								return i, 0
							}
							injected[faultOfErrno(errno)]++
							return 0, errno
						}
					}
					return len(msgs), 0
				},
			})
			surviveFaults(t, p, server, r, func(s datagram.Stats) bool { return s.OutFaults.Total() > 0 && s.InFaults.Total() > 0 })
			s := server.Stats()
			recvInjected[faultOfErrno(0)] = 0
			if s.InFaults != recvInjected {
				t.Errorf("faults on receiving %v, injected %v", s.InFaults, recvInjected)
			}
			if s.OutWaits != injected[datagram.FaultWouldBlock] {
				t.Errorf("%d waits, injected %d", s.OutWaits, injected[datagram.FaultWouldBlock])
			}
			injected[datagram.FaultWouldBlock] = s.OutFaults[datagram.FaultWouldBlock] // only a loss is counted there
			if s.OutFaults != injected {
				t.Errorf("faults on sending %v, injected %v", s.OutFaults, injected)
			}
			if s.OutFaults.Total() == 0 || s.InFaults.Total() == 0 {
				t.Error("no fault struck")
			}
		})
	})
}

// surviveFaults has a loop over server echo numbered datagrams in rounds, and
// checks after each that what came back is what the server says it sent. There are
// as many rounds as it takes for faults to strike as struck says.
func surviveFaults(t *testing.T, p *place, server *Socket, r *rand.Rand, struck func(datagram.Stats) bool) {
	t.Helper()
	core := newEchoCore(1024, 64)
	const most = 100 // of a round, so that one turn takes all that was read of it
	l := datagram.StartLoop(server, core, datagram.LoopConfig{TurnDatagrams: most})
	client := p.open(t, Config{})
	in := client.NewRecvBatch()
	sent, received, last := uint64(0), uint64(0), -1
	for i := 0; i < 40 || !(struck(server.Stats()) && server.Stats().OutLost > 0) && i < 4000; i++ {
		var batch [][]byte
		for range 1 + r.IntN(most) {
			d := make([]byte, 4+r.IntN(4)) // few sizes, so that some are joined
			d[0], d[1], d[2] = byte(sent), byte(sent>>8), byte(sent>>16)
			batch = append(batch, d)
			sent++
		}
		send(t, client, p.addr(server), batch...)
		// The loop has handled all when its socket has counted all and a
		// command was run after that, for a command follows the datagrams and
		// Do returns after the next turn's reading began.
		for server.Stats().InDatagrams < sent {
			if err := l.Do(func() {}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := l.Do(func() {}); err != nil {
				t.Fatal(err)
			}
		}
		s := server.Stats()
		if s.OutDatagrams+s.OutLost != sent {
			t.Fatalf("sent %d + lost %d != %d that came in", s.OutDatagrams, s.OutLost, sent)
		}
		for _, m := range collect(t, client, in, int(s.OutDatagrams-received)) {
			n := int(m.data[0]) | int(m.data[1])<<8 | int(m.data[2])<<16
			if n <= last {
				t.Fatalf("datagram %d after %d", n, last)
			}
			last = n
		}
		received = s.OutDatagrams
	}
	if err := l.Close(); err != nil {
		t.Errorf("the loop ended with %v", err)
	}
	if s := server.Stats(); s.OutLost == 0 || s.OutLost > sent/2 {
		t.Errorf("%d of %d datagrams were lost: the faults did not strike as meant", s.OutLost, sent)
	}
}

// T61, for the plain socket: the same faults as package net wraps them.
func TestALoopOverThePlainSocketSurvivesFaults(t *testing.T) {
	promise.Keeps(t, "T61", "udp", 1)
	faults := []syscall.Errno{unix.ECONNREFUSED, unix.ENOBUFS, unix.EMSGSIZE, unix.EAGAIN, unix.EPERM,
		unix.EINTR, unix.EHOSTUNREACH, unix.ENETUNREACH}
	eachPlace(t, func(t *testing.T, p *place) {
		if !p.config.Plain {
			return
		}
		eachSeed(t, 4, func(t *testing.T, r *rand.Rand) {
			at, err := net.ResolveUDPAddr("udp", p.listen)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := net.ListenUDP("udp", at)
			if err != nil {
				t.Fatal(err)
			}
			faulty := &faultyConn{packetConn: conn, draw: drawFrom(faults, rand.New(rand.NewPCG(r.Uint64(), 1)))}
			c, counts := Config{Plain: true}.withDefaults(), new(counters)
			local := Canonical(conn.LocalAddr().(*net.UDPAddr).AddrPort())
			ours.Store(local.Port(), true)
			server := newSocket(newPlain(faulty, c, netip.AddrPort{}, 0, 0, counts), c, local, netip.AddrPort{}, counts)
			surviveFaults(t, p, server, r, func(s datagram.Stats) bool { return s.OutFaults.Total() > 0 })
			if s := server.Stats(); s.OutFaults.Total() == 0 {
				t.Error("no fault struck")
			}
		})
	})
}

// drawFrom fails one call in a hundred for each fault, on writing and on reading.
func drawFrom(faults []syscall.Errno, r *rand.Rand) func(sending bool) syscall.Errno {
	var mu sync.Mutex
	return func(sending bool) syscall.Errno {
		mu.Lock()
		defer mu.Unlock()
		if i := r.IntN(100); i < len(faults) && (sending || faults[i] != unix.EMSGSIZE && faults[i] != unix.EAGAIN) {
			return faults[i] // EMSGSIZE on reading would be a cut datagram
		}
		return 0
	}
}

// Config.Faults strikes at every kind of socket, and is counted like any other fault.
func TestFaultsOfTheConfigStrike(t *testing.T) {
	faults := []syscall.Errno{unix.ENOBUFS, unix.EPERM, unix.EHOSTUNREACH}
	eachPlace(t, func(t *testing.T, p *place) {
		var mu sync.Mutex
		var in, out datagram.Faults
		draw := drawFrom(faults, seeded(t))
		server := p.open(t, Config{Faults: func(sending bool) syscall.Errno {
			errno := draw(sending)
			mu.Lock()
			defer mu.Unlock()
			if sending {
				out[faultOfErrno(errno)]++
			} else {
				in[faultOfErrno(errno)]++
			}
			return errno
		}})
		peer := p.open(t, Config{})
		var all [][]byte
		for i := range 300 {
			all = append(all, make([]byte, 1+i%7)) // of differing sizes, so that few are joined
		}
		sent, struck := uint64(0), func(faults *datagram.Faults) bool {
			mu.Lock()
			defer mu.Unlock()
			return faults.Total() > faults[faultOfErrno(0)]
		}
		for sent == 0 || !struck(&out) && sent < 30_000 {
			before := server.Stats().OutDatagrams
			send(t, server, p.addr(peer), all...)
			sent += uint64(len(all))
			collect(t, peer, peer.NewRecvBatch(), int(server.Stats().OutDatagrams-before))
		}
		for i := 0; i < 100 || p.network == nil && !struck(&in) && i < 10_000; i++ {
			send(t, peer, p.addr(server), []byte("one"))
			collect(t, server, server.NewRecvBatch(), 1)
		}
		server.Close()
		mu.Lock()
		defer mu.Unlock()
		in[faultOfErrno(0)], out[faultOfErrno(0)] = 0, 0
		st := server.Stats()
		if st.OutFaults != out || out.Total() == 0 || st.OutLost < out.Total() || st.OutLost+st.OutDatagrams != sent {
			t.Errorf("sending had faults %v, injected %v; %d were lost, %d sent", st.OutFaults, out, st.OutLost, st.OutDatagrams)
		}
		if st.InFaults != in || in.Total() == 0 != (p.network != nil) {
			t.Errorf("receiving had faults %v, injected %v", st.InFaults, in)
		}
	})
}

// A system that reports a datagram larger than the buffer as an error, as
// Windows does, has it counted like the others.
func TestAReadErrorForALargeDatagramCountsAsTruncated(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	c, counts := Config{Plain: true}.withDefaults(), new(counters)
	tooBig := &tooBigOnce{packetConn: conn}
	local := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	ours.Store(local.Port(), true)
	s := newSocket(newPlain(tooBig, c, netip.AddrPort{}, 0, 0, counts), c, local, netip.AddrPort{}, counts)
	defer s.Close()
	send(t, s, local, []byte("small"))
	collect(t, s, s.NewRecvBatch(), 1)
	if st := s.Stats(); st.InTruncated != 1 || st.InFaults.Total() != 0 {
		t.Errorf("truncated %d, faults %v, want 1 and none", st.InTruncated, st.InFaults)
	}
}

// tooBigOnce fails its first read with EMSGSIZE.
type tooBigOnce struct {
	packetConn
	done bool
}

func (c *tooBigOnce) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	if !c.done {
		c.done = true
		return 0, netip.AddrPort{}, netError("recvfrom", unix.EMSGSIZE)
	}
	return c.packetConn.ReadFromUDPAddrPort(b)
}

// A destination that the kernel refuses in the middle of a batch costs only
// itself, wherever it stands.
func TestARefusalAnywhereInABatchCostsOnlyItself(t *testing.T) {
	onBatched(t, func(t *testing.T, p *place) {
		for at := range 12 {
			calls := 0
			b := p.openFaulty(t, &faultyKernel{onSend: func(msgs []unix.Mmsghdr) (int, syscall.Errno) {
				if calls += len(msgs); calls-len(msgs) > at {
					return len(msgs), 0
				}
				if before := at - (calls - len(msgs)); before > 0 && before < len(msgs) {
					calls -= len(msgs) - before
					return before, 0
				} else if before == 0 {
					return 0, unix.EPERM
				}
				return len(msgs), 0
			}})
			a := p.open(t, Config{})
			out := b.NewSendBatch()
			var want [][]byte
			for i := range 12 {
				d := make([]byte, i+1) // growing, so that nothing is joined
				d[0] = byte(i)
				out.Append(d, p.addr(a))
				if i != at {
					want = append(want, d)
				}
			}
			if err := b.Write(out); err != nil {
				t.Fatal(err)
			}
			wantData(t, collect(t, a, a.NewRecvBatch(), len(want)), want)
			if s := b.Stats(); s.OutLost != 1 || s.OutFaults[datagram.FaultNotPermitted] != 1 {
				t.Fatalf("refusal at %d: lost %d, faults %v", at, s.OutLost, s.OutFaults)
			}
		}
	})
}

// A full send buffer is waited for. ECONNREFUSED reports an earlier datagram: the one at hand is tried again, once. What the
// kernel does not take even so is given up, and the socket is as good as before.
func TestWhatTheKernelDoesNotTakeIsTriedAgain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		errno syscall.Errno
		times int // that the kernel says so
		lost  uint64
	}{
		{"a full buffer for a moment", unix.EAGAIN, 1, 0},
		{"a full buffer until the wait ends", unix.EAGAIN, 2, 0},
		{"a full buffer for ever", unix.EAGAIN, 1 << 30, 8},
		{"a refusal that is reported once", unix.ECONNREFUSED, 1, 0},
		{"a refusal that is reported without end", unix.ECONNREFUSED, 1 << 30, 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onBatched(t, func(t *testing.T, p *place) {
				left := tt.times
				b := p.openFaulty(t, &faultyKernel{onSend: func(msgs []unix.Mmsghdr) (int, syscall.Errno) {
					if left--; left >= 0 {
						return 0, tt.errno
					}
					return len(msgs), 0
				}})
				a := p.open(t, Config{})
				var all [][]byte
				for i := range 8 {
					all = append(all, make([]byte, i+1))
				}
				send(t, b, p.addr(a), all...)
				s := b.Stats()
				if s.OutLost != tt.lost || s.OutDatagrams != 8-tt.lost || tt.errno == unix.EAGAIN && s.OutWaits == 0 {
					t.Errorf("lost %d, sent %d, waits %d, want %d lost", s.OutLost, s.OutDatagrams, s.OutWaits, tt.lost)
				}
				if tt.lost == 0 {
					wantData(t, collect(t, a, a.NewRecvBatch(), 8), all)
				}
				left = 0
				send(t, b, p.addr(a), []byte("after"))
				if m := collect(t, a, a.NewRecvBatch(), 1); string(m[0].data) != "after" {
					t.Errorf("got %q", m[0].data)
				}
			})
		})
	}
}

// A full batch of trains goes out in several calls, none of which is long, and loses nothing.
func TestNoCallSendsTooMany(t *testing.T) {
	onBatched(t, func(t *testing.T, p *place) {
		a := p.open(t, Config{})
		calls, most := 0, 0
		var b *Socket
		b = p.openFaulty(t, &faultyKernel{onSend: func(msgs []unix.Mmsghdr) (int, syscall.Errno) {
			n, w := 0, &b.driver.(*batched).writer
			for _, g := range w.groups[w.done:w.built] {
				n += g.count
			}
			calls, most = calls+1, max(most, n)
			return len(msgs), 0
		}})
		out := b.NewSendBatch()
		n := 0
		for out.Append(make([]byte, 64), a.LocalAddr()) {
			n++
		}
		if err := b.Write(out); err != nil {
			t.Fatal(err)
		}
		if gso, _ := b.Offload(); gso && (calls < n/(maxCallDatagrams+maxGSOSegments) || most > maxCallDatagrams+maxGSOSegments) {
			t.Errorf("%d datagrams went out in %d calls, up to %d in one", n, calls, most)
		}
		if got := b.Stats().OutDatagrams; got != uint64(n) {
			t.Errorf("%d of %d datagrams were sent", got, n)
		}
	})
}

// GSO that the kernel refuses loses nothing, and is not tried again where it
// cannot work.
func TestGSOThatIsRefusedFallsBack(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refuse  func(segment int) syscall.Errno
		wantGSO bool
	}{
		{"no checksum offload", func(int) syscall.Errno { return unix.EIO }, false},
		{"no such option", func(int) syscall.Errno { return unix.ENOPROTOOPT }, false},
		{"invalid for every size", func(int) syscall.Errno { return unix.EINVAL }, false},
		{"larger than the route's MTU", func(n int) syscall.Errno {
			if n > 1000 {
				return unix.EINVAL
			}
			return 0
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onBatched(t, func(t *testing.T, p *place) {
				refused, joined := 0, 0
				b := p.openFaulty(t, &faultyKernel{onSend: func(msgs []unix.Mmsghdr) (int, syscall.Errno) {
					for i := range msgs {
						if !isJoined(&msgs[i]) {
							continue
						}
						joined++
						if errno := tt.refuse(segmentOf(&msgs[i])); errno != 0 {
							if i > 0 {
								return i, 0
							}
							refused++
							return 0, errno
						}
					}
					return len(msgs), 0
				}})
				if gso, _ := b.Offload(); !gso {
					return // off by configuration, or this kernel has none
				}
				a := p.open(t, Config{})
				in := a.NewRecvBatch()
				for range 3 {
					var want [][]byte
					for i := range 60 {
						want = append(want, append(make([]byte, 100), byte(i)))
						if i%20 > 10 {
							want[i] = append(want[i], make([]byte, 1100)...)
						}
					}
					send(t, b, p.addr(a), want...)
					wantData(t, collect(t, a, in, len(want)), want)
				}
				if s := b.Stats(); s.OutLost != 0 || s.OutDatagrams != 180 {
					t.Errorf("lost %d, sent %d", s.OutLost, s.OutDatagrams)
				}
				if gso, _ := b.Offload(); gso != tt.wantGSO {
					t.Errorf("GSO is on: %v, want %v", gso, tt.wantGSO)
				}
				if refused == 0 || refused > 2 {
					t.Errorf("%d groups were refused, want one or two and then no more", refused)
				}
				if tt.wantGSO && b.Stats().OutJoined == 0 {
					t.Error("datagrams below the limit are no longer joined")
				}
			})
		})
	}
}

func TestAReadThatFailsForEverEndsTheLoop(t *testing.T) {
	onBatched(t, func(t *testing.T, p *place) {
		s := p.openFaulty(t, &faultyKernel{onRecv: func([]unix.Mmsghdr) syscall.Errno { return unix.ENOTSOCK }})
		l := datagram.NewLoop(s, &scriptCore{keepNoLog: true}, datagram.LoopConfig{})
		ran := false
		if err := l.Post(func() { ran = true }); err != nil {
			t.Fatal(err)
		}
		go l.Run()
		patient.Value(l.Done())
		if !errors.Is(l.Err(), unix.ENOTSOCK) {
			t.Errorf("ended with %v, want ENOTSOCK", l.Err())
		}
		if !ran {
			t.Error("a command that was accepted was not run")
		}
		if s.Stats().InFaults[datagram.FaultOther] == 0 {
			t.Error("the error was not counted")
		}
	})
}

// Transient errors without end neither end a loop nor keep its timers waiting.
func TestEndlessTransientErrorsDoNotStarveTimers(t *testing.T) {
	onBatched(t, func(t *testing.T, p *place) {
		s := p.openFaulty(t, &faultyKernel{onRecv: func([]unix.Mmsghdr) syscall.Errno { return unix.ECONNREFUSED }})
		core := newTimerCore(t)
		done := make(chan struct{})
		check := core.timeout
		core.timeout = func(now time.Time) {
			if check(now); core.fired == 10 {
				close(done)
			}
		}
		for i := range 10 {
			core.add(time.Now().Add(time.Duration(i) * 100 * time.Microsecond))
		}
		startLoop(t, s, core, datagram.LoopConfig{})
		patient.Value(done)
	})
}

// After a run of errors the socket is looked at again: what waited in it is not
// forgotten, though no further datagram comes to wake the loop.
func TestARunOfErrorsDoesNotHideWhatWaits(t *testing.T) {
	onBatched(t, func(t *testing.T, p *place) {
		left := 5 * maxStrangeErrors
		server := p.openFaulty(t, &faultyKernel{onRecv: func([]unix.Mmsghdr) syscall.Errno {
			if left--; left >= 0 {
				return unix.ENOBUFS
			}
			return 0
		}})
		client := p.open(t, Config{})
		send(t, client, p.addr(server), []byte("x"))
		core := &scriptCore{keepNoLog: true}
		done := make(chan struct{})
		core.datagram = func(time.Time, netip.AddrPort, []byte) { close(done) }
		startLoop(t, server, core, datagram.LoopConfig{})
		patient.Value(done)
		if got := server.Stats().InFaults[datagram.FaultNoBuffers]; got != 5*maxStrangeErrors {
			t.Errorf("%d faults, want %d", got, 5*maxStrangeErrors)
		}
	})
}

// A connected socket whose peer is gone is told so by a real kernel, and lives.
func TestADialledSocketSurvivesARealRefusal(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		if p.network != nil {
			return
		}
		for i := 0; !survivesARefusal(t, p); i++ {
			if i == 20 {
				t.Fatal("twenty times another program was at the port")
			}
		}
	})
}

// survivesARefusal reports false if another program took the port that was free for a moment.
func survivesARefusal(t *testing.T, p *place) bool {
	a := p.open(t, Config{})
	to := p.addr(a)
	c := p.dial(t, to, Config{})
	a.Close()
	in := c.NewRecvBatch()
	refused := func() uint64 {
		s := c.Stats()
		return s.InFaults[datagram.FaultRefused] + s.OutFaults[datagram.FaultRefused]
	}
	for i := 0; refused() == 0; i++ {
		if i == 1000 {
			return false
		}
		send(t, c, to, []byte("anybody?"))
		_ = c.Read(in, time.Now().Add(time.Millisecond))
	}
	again, err := p.tryGroup(a.LocalAddr().String(), 1, Config{})
	if errors.Is(err, syscall.EADDRINUSE) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	defer again[0].Close()
	send(t, c, to, []byte("back"))
	for _, m := range collect(t, again[0], again[0].NewRecvBatch(), 1) {
		if string(m.data) != "back" && string(m.data) != "anybody?" {
			t.Errorf("got %q", m.data)
		}
	}
	return true
}

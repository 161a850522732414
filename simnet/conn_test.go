package simnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
)

// liveTest runs f in a bubble with two conns, and checks the accounting after it.
func liveTest(t *testing.T, p Profile, f func(t *testing.T, l *Live, a, b *Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := NewLive(1)
		l.Default(p)
		a, b := listen(t, l, 1), listen(t, l, 2)
		f(t, l, a, b)
		if err := l.Stats().Balance(); err != nil {
			t.Error(err)
		}
		if err := l.LinkStats(l.LinkBetween(addr(1), addr(2))).Balance(); err != nil {
			t.Error(err)
		}
	})
}

func listen(t *testing.T, l *Live, port int) *Conn {
	t.Helper()
	c, err := l.Listen(addr(port))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, c *Conn, to int, text string) {
	t.Helper()
	if n, err := c.WriteTo([]byte(text), net.UDPAddrFromAddrPort(addr(to))); n != len(text) || err != nil {
		t.Fatalf("wrote %d: %v", n, err)
	}
}

func TestAConnReadsWhatAnotherWroteAfterTheDelay(t *testing.T) {
	liveTest(t, Profile{Delay: 25 * time.Millisecond}, func(t *testing.T, l *Live, a, b *Conn) {
		start := time.Now()
		write(t, a, 2, "hello")
		buf := make([]byte, 100)
		n, from, err := b.ReadFrom(buf)
		if err != nil || string(buf[:n]) != "hello" || from.String() != "10.0.0.1:1" {
			t.Fatalf("read %q from %v: %v", buf[:n], from, err)
		}
		if got := time.Since(start); got != 25*time.Millisecond {
			t.Errorf("it took %v", got)
		}
		if _, ok := from.(*net.UDPAddr); !ok {
			t.Errorf("from is a %T", from)
		}
		if got, ok := b.LocalAddr().(*net.UDPAddr); !ok || got.AddrPort() != addr(2) {
			t.Errorf("local address %v", b.LocalAddr())
		}
	})
}

func TestAConnGivesDatagramsInTheOrderOfArrival(t *testing.T) {
	liveTest(t, Profile{Delay: time.Millisecond}, func(t *testing.T, l *Live, a, b *Conn) {
		const count = 300
		for i := range count {
			write(t, a, 2, fmt.Sprint(i))
		}
		for i := range count {
			buf := make([]byte, 10)
			n, from, err := b.ReadFromUDPAddrPort(buf)
			if err != nil || string(buf[:n]) != fmt.Sprint(i) || from != addr(1) {
				t.Fatalf("read %q from %v: %v, want %d", buf[:n], from, err, i)
			}
			if i == count/2 {
				write(t, a, 2, "300") // the queue is half read, and goes on
			}
		}
	})
}

func TestAReadBufferThatIsTooSmallCutsTheDatagram(t *testing.T) {
	liveTest(t, Profile{}, func(t *testing.T, l *Live, a, b *Conn) {
		write(t, a, 2, "hello")
		write(t, a, 2, "")
		buf := make([]byte, 3)
		if n, _, err := b.ReadFrom(buf); err != nil || string(buf[:n]) != "hel" {
			t.Errorf("read %q: %v", buf[:n], err)
		}
		if n, _, err := b.ReadFrom(buf); err != nil || n != 0 {
			t.Errorf("the empty datagram read as %q: %v", buf[:n], err)
		}
	})
}

func TestDeadlinesEndReadsAndWrites(t *testing.T) {
	liveTest(t, Profile{Delay: time.Second}, func(t *testing.T, l *Live, a, b *Conn) {
		start := time.Now()
		if err := b.SetReadDeadline(start.Add(3 * time.Second)); err != nil {
			t.Fatal(err)
		}
		_, _, err := b.ReadFrom(make([]byte, 10))
		var timeout net.Error
		if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(start) != 3*time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		write(t, a, 2, "x")
		time.Sleep(2 * time.Second)
		if _, _, err = b.ReadFrom(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after the deadline a read gave %v, data or not", err)
		}
		b.SetReadDeadline(time.Time{})
		if _, _, err = b.ReadFrom(make([]byte, 10)); err != nil {
			t.Errorf("without the deadline: %v", err)
		}
		b.SetDeadline(time.Now().Add(-time.Second))
		if _, err = b.WriteTo(nil, a.LocalAddr()); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write: %v", err)
		}
		if _, _, err = b.ReadFrom(nil); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
	})
}

func TestADeadlineThatIsSetWhileAReadWaitsMovesIt(t *testing.T) {
	liveTest(t, Profile{}, func(t *testing.T, l *Live, a, b *Conn) {
		start := time.Now()
		b.SetReadDeadline(start.Add(time.Hour))
		done := make(chan time.Duration)
		go func() {
			b.ReadFrom(make([]byte, 1))
			done <- time.Since(start)
		}()
		synctest.Wait()
		b.SetReadDeadline(start.Add(time.Minute))
		if got := patient.Value(done); got != time.Minute {
			t.Errorf("the read ended after %v", got)
		}
	})
}

func TestCloseWakesReadersAndFreesTheAddress(t *testing.T) {
	liveTest(t, Profile{Delay: time.Second}, func(t *testing.T, l *Live, a, b *Conn) {
		b.SetReadDeadline(time.Now().Add(time.Hour))
		errs := make(chan error, 3)
		for range 3 {
			go func() {
				_, _, err := b.ReadFrom(make([]byte, 1))
				errs <- err
			}()
		}
		synctest.Wait()
		write(t, a, 2, "late")
		write(t, b, 1, "not read")
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := patient.Value(errs); !errors.Is(err, net.ErrClosed) {
				t.Errorf("read: %v", err)
			}
		}
		time.Sleep(2 * time.Second)
		if s := l.Stats(); s.NoHost != 1 {
			t.Errorf("%+v", s)
		}
		_, errWrite := b.WriteTo(nil, a.LocalAddr())
		for what, err := range map[string]error{
			"close": b.Close(), "write": errWrite, "deadline": b.SetDeadline(time.Time{}), "write deadline": b.SetWriteDeadline(time.Time{}),
			"buffer": b.SetReadBuffer(1), "rebind": l.Rebind(b, addr(9)),
		} {
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s after close: %v", what, err)
			}
		}
		listen(t, l, 2)
		a.Close()
		if len(l.free) != len(l.flights) {
			t.Errorf("%d of %d buffers came back", len(l.free), len(l.flights))
		}
	})
}

func TestWhatIsSentLaterMayArriveSooner(t *testing.T) {
	liveTest(t, Profile{Delay: time.Second}, func(t *testing.T, l *Live, a, b *Conn) {
		start := time.Now()
		write(t, a, 2, "slow")
		l.Default(Profile{Delay: time.Millisecond})
		write(t, a, 2, "fast")
		for _, want := range []struct {
			text string
			at   time.Duration
		}{{"fast", time.Millisecond}, {"slow", time.Second}} {
			buf := make([]byte, 10)
			n, _, err := b.ReadFrom(buf)
			if string(buf[:n]) != want.text || time.Since(start) != want.at || err != nil {
				t.Errorf("read %q after %v: %v, want %q", buf[:n], time.Since(start), err, want.text)
			}
		}
	})
}

func TestListenRefusesWhatItCannotBind(t *testing.T) {
	liveTest(t, Profile{}, func(t *testing.T, l *Live, a, b *Conn) {
		if _, err := l.Listen(addr(1)); !errors.Is(err, ErrAddrInUse) {
			t.Errorf("twice: %v", err)
		}
		for _, bad := range []netip.AddrPort{{}, netip.MustParseAddrPort("0.0.0.0:5"), netip.MustParseAddrPort("[::]:5")} {
			if _, err := l.Listen(bad); !errors.Is(err, ErrBadAddr) {
				t.Errorf("%v: %v", bad, err)
			}
		}
		free1, free2 := listen(t, l, 0), listen(t, l, 0)
		if free1.LocalAddr().String() == free2.LocalAddr().String() || strings.HasSuffix(free1.LocalAddr().String(), ":0") {
			t.Errorf("port 0 gave %v and %v", free1.LocalAddr(), free2.LocalAddr())
		}
		for range 1<<16 - firstEphemeralPort - 2 {
			listen(t, l, 0)
		}
		if _, err := l.Listen(addr(0)); !errors.Is(err, ErrAddrInUse) {
			t.Errorf("with all ports in use: %v", err)
		}
	})
}

func TestWriteRefusesWhatItCannotSend(t *testing.T) {
	liveTest(t, Profile{}, func(t *testing.T, l *Live, a, b *Conn) {
		if _, err := a.WriteTo(make([]byte, 65_508), b.LocalAddr()); !errors.Is(err, ErrMessageTooLong) {
			t.Errorf("too long: %v", err)
		}
		var none *net.UDPAddr
		for _, to := range []net.Addr{nil, none, &net.UDPAddr{}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 2}, &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1)}} {
			if _, err := a.WriteTo(nil, to); !errors.Is(err, ErrBadAddr) {
				t.Errorf("%v: %v", to, err)
			}
		}
		if s := l.Stats(); s.Sent != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestAReaderThatStallsLosesTheNewest(t *testing.T) {
	liveTest(t, Profile{}, func(t *testing.T, l *Live, a, b *Conn) {
		b.SetReadBuffer(10 * (100 + readOverheadBytes))
		for i := range 15 {
			write(t, a, 2, strings.Repeat(string(rune('a'+i)), 100))
		}
		if s := l.Stats(); s.Delivered != 10 || s.Overflowed != 5 {
			t.Errorf("%+v", s)
		}
		buf := make([]byte, 1)
		for i := range 10 {
			if _, _, err := b.ReadFrom(buf); err != nil || buf[0] != byte('a'+i) {
				t.Fatalf("read %q: %v", buf, err)
			}
		}
		write(t, a, 2, "again")
		if _, _, err := b.ReadFrom(buf); err != nil {
			t.Errorf("after it was read: %v", err)
		}
	})
}

func TestWhatIsUnderWayIsBounded(t *testing.T) {
	liveTest(t, Profile{Delay: time.Hour}, func(t *testing.T, l *Live, a, b *Conn) {
		for range defaultInFlight + 7 {
			a.WriteToUDPAddrPort(nil, addr(2))
		}
		if s := l.Stats(); s.InFlight != defaultInFlight || s.Overflowed != 7 {
			t.Errorf("%+v", s)
		}
	})
}

func TestALiveHasTheFaultsOfItsLinks(t *testing.T) {
	const count = 2000
	for _, tt := range []struct {
		name string
		p    Profile
		read func(Stats) uint64
		want float64
	}{
		{"loss", Profile{Loss: 0.25}, func(s Stats) uint64 { return s.Lost }, 0.25},
		{"dup", Profile{Duplicate: 0.25}, func(s Stats) uint64 { return s.Duplicated }, 0.25},
		{"corrupt", Profile{Corrupt: 0.25}, func(s Stats) uint64 { return s.Corrupted }, 0.25},
		{"reorder", Profile{Reorder: 0.25, ReorderBy: time.Second}, func(s Stats) uint64 { return s.Reordered }, 0.25},
		{"burst", Profile{Burst: &Gilbert{GoodToBad: 0.5, BadToGood: 0.5, LossBad: 0.5}}, func(s Stats) uint64 { return s.LostInBurst }, 0.25},
		{"mtu", Profile{MTU: 30}, func(s Stats) uint64 { return s.TooBig }, 1},
		{"rate", Profile{Rate: 32 * 8 * 500, Queue: -1}, func(s Stats) uint64 { return s.QueueFull }, 0.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			liveTest(t, tt.p, func(t *testing.T, l *Live, a, b *Conn) {
				b.SetReadBuffer(1 << 30)
				for range count {
					write(t, a, 2, "four")
					time.Sleep(time.Millisecond)
				}
				time.Sleep(time.Second)
				got := tt.read(l.Stats())
				if tt.want == 0.25 {
					within(t, tt.name, got, count, tt.want)
				} else if got != uint64(count*tt.want) {
					t.Errorf("got %d", got)
				}
				if link := tt.read(l.LinkStats(l.LinkBetween(addr(1), addr(2)))); link != got {
					t.Errorf("the link counted %d, the network %d", link, got)
				}
			})
		})
	}
}

func TestALivesRoutesShareALinkAndItsPartitionsCut(t *testing.T) {
	liveTest(t, Profile{}, func(t *testing.T, l *Live, a, b *Conn) {
		c := listen(t, l, 3)
		shared := l.NewLink(Profile{Rate: 8_000, Queue: time.Minute}) // 29 bytes take 29 ms
		l.Route(addr(1), addr(3), shared)
		l.Route(addr(2), addr(3), shared)
		start := time.Now()
		write(t, a, 3, "x")
		write(t, b, 3, "y")
		c.ReadFrom(make([]byte, 1))
		c.ReadFrom(make([]byte, 1))
		if got := time.Since(start); got != 58*time.Millisecond {
			t.Errorf("two over one link took %v", got)
		}
		l.SetProfile(shared, Profile{})
		l.Partition(addr(1), addr(3), true)
		l.Partition(addr(2), addr(3), false)
		write(t, a, 3, "x")
		write(t, b, 3, "x")
		write(t, c, 1, "open")
		write(t, c, 2, "x")
		if s := l.Stats(); s.Partitioned != 3 || s.Delivered != 3 {
			t.Errorf("%+v", s)
		}
		l.Heal(addr(1), addr(3))
		l.Heal(addr(2), addr(3))
		write(t, a, 3, "x")
		write(t, b, 3, "x")
		if s := l.Stats(); s.Partitioned != 3 || s.Delivered != 5 {
			t.Errorf("%+v", s)
		}
	})
}

func TestARebindOfAConnTakesItsRoutesAlong(t *testing.T) {
	liveTest(t, Profile{}, func(t *testing.T, l *Live, a, b *Conn) {
		slow := l.NewLink(Profile{Delay: time.Minute})
		l.Route(addr(1), addr(2), slow)
		l.Partition(addr(2), addr(1), true)
		for bad, want := range map[netip.AddrPort]error{addr(2): ErrAddrInUse, {}: ErrBadAddr, addr(0): ErrBadAddr} {
			if err := l.Rebind(a, bad); !errors.Is(err, want) {
				t.Errorf("%v: %v", bad, err)
			}
		}
		if err := l.Rebind(a, addr(7)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		write(t, a, 2, "moved")
		_, from, err := b.ReadFromUDPAddrPort(make([]byte, 10))
		if err != nil || from != addr(7) || time.Since(start) != time.Minute {
			t.Errorf("from %v after %v: %v", from, time.Since(start), err)
		}
		write(t, b, 1, "to the dead address")
		write(t, b, 7, "cut")
		if s := l.Stats(); s.NoHost != 1 || s.Partitioned != 1 {
			t.Errorf("%+v", s)
		}
		if a.LocalAddr().String() != "10.0.0.1:1" {
			t.Errorf("local address %v", a.LocalAddr())
		}
	})
}

func TestTheSameSeedLosesTheSameDatagrams(t *testing.T) {
	run := func() []string {
		var got []string
		liveTest(t, Profile{Loss: 0.5, Jitter: time.Second}, func(t *testing.T, l *Live, a, b *Conn) {
			for i := range 100 {
				write(t, a, 2, fmt.Sprint(i))
			}
			b.SetReadDeadline(time.Now().Add(2 * time.Second))
			for {
				buf := make([]byte, 10)
				n, _, err := b.ReadFrom(buf)
				if err != nil {
					return
				}
				got = append(got, string(buf[:n]))
			}
		})
		return got
	}
	if a, b := run(), run(); !slices.Equal(a, b) || len(a) == 0 {
		t.Fatalf("got %v and %v", a, b)
	}
}

// Many goroutines on one network: for the race detector.
func TestALiveIsSafeForManyGoroutines(t *testing.T) {
	liveTest(t, Profile{Delay: time.Millisecond, Jitter: time.Millisecond, Loss: 0.1, Duplicate: 0.1}, func(t *testing.T, l *Live, a, b *Conn) {
		var readers, writers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				buf := make([]byte, 100)
				for {
					n, from, err := b.ReadFromUDPAddrPort(buf)
					if err != nil {
						return
					}
					b.WriteToUDPAddrPort(buf[:n], from)
				}
			})
		}
		for i := range 8 {
			writers.Go(func() {
				c := listen(t, l, 0)
				defer c.Close()
				for range 200 {
					write(t, c, 2, fmt.Sprint(i))
					c.SetReadDeadline(time.Now().Add(3 * time.Millisecond))
					c.ReadFrom(make([]byte, 100))
					l.Default(Profile{Delay: time.Millisecond, Loss: 0.1})
				}
			})
		}
		patient.Done(writers.Wait)
		b.Close()
		patient.Done(readers.Wait)
		time.Sleep(time.Second)
		if s := l.Stats(); s.InFlight != 0 || s.Delivered < 1600 || len(l.free) != len(l.flights) {
			t.Errorf("%d of %d buffers are free: %+v", len(l.free), len(l.flights), s)
		}
	})
}

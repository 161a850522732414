package impair

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/patient"
	"parley/simnet"
)

// A sender who is held back loses nothing to the queue and waits in it no longer than the profile says.
func TestAHeldBackStreamLosesNothingToTheQueue(t *testing.T) {
	for _, words := range []string{"4g", "bad", "satellite", "rate=100k", "rate=400k queue=50ms", "rate=400k loss=20%", "rate=2M queue=0"} {
		profile, err := simnet.ParseProfile(words)
		if err != nil {
			t.Fatal(err)
		}
		for _, seed := range chance.Seeds(20) {
			shaper := simnet.NewShaper(seed, 1, ofStream(profile))
			s := stream{rtt: 2 * profile.Delay, gap: leastResend}
			allowed := allowedQueue(profile)
			now, last := time.Duration(0), time.Duration(0)
			for i := range 5000 {
				now += max(0, shaper.Backlog(now)-allowed)
				if wait := shaper.Backlog(now); wait > queueOf(profile) {
					t.Fatalf("seed=%d: %s: segment %d waits %v", seed, words, i, wait)
				}
				at, _, ok := s.pass(now, segmentBytes, shaper)
				if !ok || at < last {
					t.Fatalf("seed=%d: %s: segment %d: ok is %v, it arrives at %v after %v", seed, words, i, ok, at, last)
				}
				last = at
			}
			if full := shaper.Stats().QueueFull; full > 0 {
				t.Errorf("seed=%d: %s: the queue dropped %d", seed, words, full)
			}
			// A sender who always has more uses the link: all resends included, time is that of the bytes.
			busy := time.Duration(float64(shaper.Stats().Sent*(segmentBytes+28)*8) / float64(profile.Rate) * float64(time.Second))
			if now > busy {
				t.Errorf("seed=%d: %s: %v for what takes %v", seed, words, now, busy)
			}
		}
	}
}

// The buffer in the kernel and what waits in the proxy are the queue together, if the kernel can have one so short.
func TestTheKernelsBufferIsPartOfTheQueue(t *testing.T) {
	for _, tt := range []struct {
		words   string
		buffer  int
		allowed time.Duration
	}{
		{"perfect", 0, boundlessQueue},
		{"rate=20M queue=300ms", 93_750, 262_500 * time.Microsecond},
		{"rate=2M", 6250, 175 * time.Millisecond},
		{"rate=400k", leastBufferBytes, 153_920 * time.Microsecond},
		{"rate=8k", leastBufferBytes, 0},
		{"rate=2M queue=0", leastBufferBytes, 0},
		{"rate=1G queue=1h", mostBufferBytes, time.Hour - mostBufferBytes*8*time.Nanosecond},
	} {
		p, err := simnet.ParseProfile(tt.words)
		if err != nil {
			t.Fatal(err)
		}
		if got := bufferBytes(p); got != tt.buffer {
			t.Errorf("%s: a buffer of %d bytes, want %d", tt.words, got, tt.buffer)
		}
		if got := allowedQueue(p).Round(time.Microsecond); got != tt.allowed.Round(time.Microsecond) {
			t.Errorf("%s: %v may wait in the proxy, want %v", tt.words, got, tt.allowed)
		}
	}
}

// Five players of a game over TCP, who get a world at once and then a little every tick, all live on a bad network. (A full
// queue cut their connections before.)
func TestStreamsLiveOnABadNetwork(t *testing.T) {
	for _, name := range []string{"4g", "bad"} {
		t.Run(name, func(t *testing.T) {
			defer patient.End().Stop()
			profile, _ := simnet.ByName(name)
			world := noise(1, profile.Rate/8) // a second's worth
			moves := noise(2, 20_000)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			p := start(t, Config{Target: l.Addr().String(), TCP: true, Up: profile, Down: profile, Seed: 5})
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() {
					server, err := l.Accept()
					if err != nil {
						t.Error(err)
						return
					}
					speak(t, "the server", server, world[:len(world)*3/4], world[len(world)*3/4:], moves)
				})
				client := dialTCP(t, p)
				all.Go(func() { speak(t, "a client", client, nil, moves, world) })
			}
			all.Wait()
			l.Close()
			s := p.Stats()
			if s.Up.QueueFull != 0 || s.Down.QueueFull != 0 || s.Held == 0 {
				t.Errorf("%d and %d drops at a full queue, held back %d times", s.Up.QueueFull, s.Down.QueueFull, s.Held)
			}
		})
	}
}

// speak writes some bytes at once and others piece by piece, and expects bytes and then the end.
func speak(t *testing.T, who string, c net.Conn, atOnce, pieces, want []byte) {
	defer c.Close()
	var writer sync.WaitGroup
	defer patient.Done(writer.Wait)
	writer.Go(func() {
		c.Write(atOnce)
		for ; len(pieces) > 0; pieces = pieces[min(len(pieces), 700):] {
			if _, err := c.Write(pieces[:min(len(pieces), 700)]); err != nil {
				t.Errorf("%s: %v", who, err)
				return
			}
		}
		c.(*net.TCPConn).CloseWrite()
	})
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s got %d of %d bytes, or others: %v", who, len(got), len(want), err)
	}
}

func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, seed))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// A stream waits where a datagram is dropped because the schedule is full.
func TestAFullScheduleHoldsStreamsBack(t *testing.T) {
	s := newSchedule(10)
	sent := make(chan byte, 10)
	send := func(b []byte) { sent <- b[0] }
	now := time.Now()
	full := bytes.Repeat([]byte{1}, 10)
	if !s.put(now.Add(20*time.Millisecond), full, send) || !s.hold(now, []byte{2}, send) {
		t.Fatal("a stream was refused")
	}
	for _, want := range []byte{1, 2} {
		if got := patient.Value(sent); got != want {
			t.Errorf("%d came where %d was due", got, want)
		}
	}
	if !s.put(now.Add(time.Hour), full, send) || s.put(now, []byte{9}, send) {
		t.Error("a full schedule took a datagram")
	}
	held := make(chan bool, 1)
	go func() { held <- s.hold(now, []byte{3}, send) }()
	s.close()
	if patient.Value(held) {
		t.Error("a closed schedule took a segment")
	}
}

// A proxy that is closed while it holds a stream back does not wait for the queue.
func TestCloseDoesNotWaitForAQueue(t *testing.T) {
	defer patient.End().Stop()
	p := start(t, Config{Target: echoTCP(t), TCP: true, Up: simnet.Profile{Rate: 100, Queue: time.Second}})
	c := dialTCP(t, p)
	c.Write(make([]byte, 4*segmentBytes)) // minutes
	for p.Stats().Held == 0 {
		runtime.Gosched()
	}
	p.Close()
}

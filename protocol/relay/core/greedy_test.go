package core

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// hoard is a room with one who sends far too much, the first, and others who send little and count what they get.
type hoard struct {
	t       testing.TB
	net     *simnet.Network
	mux     *Mux
	server  *simnet.Host
	members []*hoarder
	quiet   bool          // the others send nothing any more
	every   time.Duration // how often each of them sends
	size    int           // how much
	loose   int           // unreliable packages a second of the first
	waves   int           // of the first: 10 ms each
}

type hoarder struct {
	*Endpoint
	h     *hoard
	host  *simnet.Host
	id    int
	next  uint32
	got   map[int]uint32 // of each sender, the next package
	open  bool
	ended *Close
}

const hoarderHeader = 6 // id u16, number u32

func newHoard(t testing.TB, n int, delay, every time.Duration) *hoard {
	return newSeededHoard(t, uint64(n), n, delay, every)
}

func newSeededHoard(t testing.TB, seed uint64, n int, delay, every time.Duration) *hoard {
	t.Logf("seed=%d", seed)
	h := &hoard{t: t, net: simnet.New(seed), every: every, size: 60}
	h.net.Default(simnet.Profile{Delay: delay})
	h.mux = NewMux(h.net.Now(), Config{}, newShared(seed), admission.Key{1}, nil)
	h.server = h.net.Add(partyServer, h.mux)
	h.server.AfterTurn(func(now time.Time) {
		h.mux.Advance(now)
		for p, ev, ok := h.mux.PollEvent(); ok; p, ev, ok = h.mux.PollEvent() {
			if ev.Kind == EventLeft {
				t.Logf("at %v %v left: %v", h.net.Elapsed(), p.end.Addr(), ev.Close)
			}
		}
	})
	for i := range n {
		m := &hoarder{h: h, id: i, got: map[int]uint32{}}
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}), 4000)
		m.Endpoint, _ = NewClient(h.net.Now(), partyServer, Config{}, newShared(seed<<8+uint64(i)))
		m.host = h.net.Add(a, m.Endpoint).Named(fmt.Sprint("member ", i))
		m.host.AfterTurn(m.turn)
		h.members = append(h.members, m)
	}
	h.until("all are in", func() bool {
		for _, m := range h.members {
			if !m.open {
				return false
			}
		}
		return true
	})
	h.net.After(0, "send", h.tick)
	return h
}

func (h *hoard) until(what string, cond func() bool) {
	h.t.Helper()
	if err := h.net.RunUntil(cond, 90*time.Second); err != nil {
		h.t.Fatalf("%s: %v", what, err)
	}
}

func (m *hoarder) turn(time.Time) {
	for ev, ok := m.PollEvent(); ok; ev, ok = m.PollEvent() {
		switch ev.Kind {
		case EventJoined:
			m.open = true
		case EventLeft:
			m.ended = &ev.Close
		case EventPackage:
			b := ev.Package.Payload
			if len(b) < hoarderHeader || !ev.Package.Mode.Reliable() {
				continue
			}
			from, n := int(binary.BigEndian.Uint16(b)), binary.BigEndian.Uint32(b[2:])
			if m.got[from] != n && from != forgedID {
				m.h.t.Fatalf("member %d got package %d of %d, want %d", m.id, n, from, m.got[from])
			}
			m.got[from]++
		}
	}
}

func (m *hoarder) say(size int) bool {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, size), uint16(m.id))
	b = binary.BigEndian.AppendUint32(b, m.next)
	if m.Send(m.host.Now(), SemiOrdered, ToOthers, b[:size]) != nil {
		return false
	}
	m.next++
	return true
}

// tick has the first send 756 kB/s, or its unreliable packages, every 10 ms, and each other its own.
func (h *hoard) tick() {
	if h.quiet {
		return
	}
	h.net.After(10*time.Millisecond, "send", h.tick)
	h.waves++
	for _, m := range h.members {
		switch {
		case m.ended != nil:
			continue
		case m.id > 0:
			if h.waves%int(h.every/(10*time.Millisecond)) == m.id%3 {
				if !m.say(h.size) {
					h.t.Fatalf("member %d cannot send: %v", m.id, m.State())
				}
			}
		case h.loose > 0:
			for range h.loose / 100 {
				_ = m.Send(m.host.Now(), Unreliable, ToOthers, []byte("flood"))
			}
		default:
			for range 15 {
				m.say(MaxPayload)
			}
		}
		m.host.Poke()
	}
}

// slow makes the path to a member narrow, in bytes a second.
func (h *hoard) slow(i, rate int, delay, queue time.Duration) {
	h.net.Route(h.server, h.members[i].host, h.net.NewLink(simnet.Profile{Delay: delay, Rate: 8 * rate, Queue: queue}))
}

// settle stops the senders and waits until each honest member has all that the honest ones have sent.
func (h *hoard) settle() {
	h.t.Helper()
	h.quiet = true
	h.until("all is there", func() bool {
		for _, m := range h.members[1:] {
			for _, other := range h.members[1:] {
				if m != other && m.got[other.id] != other.next && m.ended == nil {
					return false
				}
			}
		}
		return true
	})
	for _, m := range h.members[1:] {
		if m.ended != nil {
			h.t.Errorf("member %d left: %v", m.id, *m.ended)
		}
	}
	if st := h.mux.Stats(); st.Check() != nil {
		h.t.Error(st.Check())
	}
}

// One participant that sends 756 kB/s over 100 ms removes nobody: in rooms of 2 to 40 all others stay, and each gets all that
// the others send, once and in order. The greedy one is slowed, and goes on.
func TestOneSenderRemovesNobody(t *testing.T) {
	sizes := []int{2, 3, 12}
	switch {
	case kit.Race:
		sizes = sizes[:2] // there is one goroutine
	case promise.Full():
		sizes = []int{2, 3, 5, 8, 13, 21, 30, 40}
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			h := newHoard(t, n, 50*time.Millisecond, 100*time.Millisecond)
			if err := h.net.Run(15 * time.Second); err != nil {
				t.Fatal(err)
			}
			h.settle()
			greedy := h.members[0]
			if greedy.ended != nil {
				t.Errorf("the greedy one left: %v", *greedy.ended)
			}
			if n := h.members[1].got[0]; n < 500 {
				t.Errorf("%d packages of the greedy one were passed on", n)
			}
			t.Logf("%d of %d packages of the greedy one were passed on", h.members[1].got[0], greedy.next)
		})
	}
}

// Nor does it where a receiver takes 7 KB/s, with a short queue before that, or is behind a path of 600 ms: those stay too, and get what the
// others send, which is less than that. The greedy one hears of the server often enough to stay as well. A queue of 400 ms is less than the least
// window of the engine, and loses a third of what is sent.
func TestSlowReceiversStay(t *testing.T) {
	for _, tt := range []struct {
		name         string
		n            int
		rate         int
		delay, queue time.Duration
		first, seeds uint64 // of a plain run
		pr           uint64 // how many more in the gate
	}{
		{"7 KB/s, alone with it", 2, 7000, 50 * time.Millisecond, time.Second, 1, 2, 6},
		{"7 KB/s, a short queue, alone with it", 2, 7000, 50 * time.Millisecond, 700 * time.Millisecond, 1, 2, 6},
		{"7 KB/s, a very short queue, alone with it", 2, 7000, 50 * time.Millisecond, 400 * time.Millisecond, 28, 8, 52},
		{"7 KB/s", 5, 7000, 50 * time.Millisecond, time.Second, 1, 2, 6},
		{"7 KB/s, a short queue", 5, 7000, 50 * time.Millisecond, 700 * time.Millisecond, 1, 2, 6},
		{"7 KB/s, a very short queue, five", 5, 7000, 50 * time.Millisecond, 400 * time.Millisecond, 7, 1, 59},
		{"7 KB/s, a very short queue, eight", 8, 7000, 50 * time.Millisecond, 400 * time.Millisecond, 1, 2, 28},
		{"30 KB/s", 8, 30_000, 50 * time.Millisecond, time.Second, 1, 2, 6},
		{"a long path", 5, 10_000_000, 300 * time.Millisecond, time.Second, 1, 2, 6},
	} {
		if kit.Race && tt.n != 5 { // there is one goroutine
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			seeds := tt.seeds
			switch {
			case kit.Race:
				seeds = 1
			case promise.Full():
				seeds += tt.pr
			}
			for seed := tt.first; seed < tt.first+seeds; seed++ {
				h := newSeededHoard(t, seed, tt.n, 50*time.Millisecond, 400*time.Millisecond)
				if tt.delay > 100*time.Millisecond {
					h.net.Route(h.members[1].host, h.server, h.net.NewLink(simnet.Profile{Delay: tt.delay}))
				}
				h.slow(1, tt.rate, tt.delay, tt.queue)
				span := 30 * time.Second
				if tt.queue < 500*time.Millisecond {
					span = time.Minute
				}
				if err := h.net.Run(span); err != nil {
					t.Fatal(err)
				}
				if greedy := h.members[0]; greedy.ended != nil {
					t.Errorf("seed=%d: the greedy one left: %v", seed, *greedy.ended)
				}
				h.settle()
			}
		})
	}
}

// A receiver that takes less than honest participants send, and less than 50 KB/s, is removed for that; the others
// lose nothing and stay.
func TestOneThatIsTooSlowForAllIsRemoved(t *testing.T) {
	h := newHoard(t, 6, 20*time.Millisecond, 100*time.Millisecond)
	h.members[0].ended = new(Close) // nobody is greedy
	h.size = 400                    // 16 KB/s in all
	h.slow(1, 3000, 20*time.Millisecond, time.Second)
	slow := h.members[1]
	h.until("the slow one is out", func() bool { return slow.ended != nil || h.mux.First().Peer(slow.host.Addr()) == nil })
	if h.net.Elapsed() < slowAfter {
		t.Errorf("removed after %v", h.net.Elapsed())
	}
	h.quiet = true
	h.members = append(h.members[:1], h.members[2:]...)
	h.settle()
}

// 12,000 unreliable packages a second into a room of 40 are cut to the share of one, early; what the others send unreliably
// is passed on.
func TestAFloodIsCutToAShare(t *testing.T) {
	h := newHoard(t, 40, 10*time.Millisecond, 100*time.Millisecond)
	h.loose = 12_000
	if kit.Race { // there is one goroutine
		if err := h.net.Run(time.Second); err != nil {
			t.Fatal(err)
		}
		return
	}
	before := h.mux.Stats()
	if err := h.net.Run(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	h.settle()
	st, flood := h.mux.Stats(), h.mux.First().Peer(h.members[0].host.Addr()).end.Stats()
	if copies := st.Copies - before.Copies; copies > 10*60_000+30_000 {
		t.Errorf("%d copies in 10 s", copies)
	}
	if flood.LooseOver < flood.Loose*8/10 || flood.Loose < 100_000 {
		t.Errorf("%d of %d were dropped", flood.LooseOver, flood.Loose)
	}
}

// What the server itself says to all removes nobody either: it is told that somebody did not get it.
func TestSayingTooMuchRemovesNobody(t *testing.T) {
	h := newHall(t, Config{})
	for i := range 3 {
		h.join(near(i))
	}
	room := h.mux.First().Peer(near(0)).Room()
	var err error
	for range 4000 {
		if err = room.Say(Unordered, []byte(strings.Repeat("x", 500))); err != nil {
			break
		}
	}
	if err != ErrBacklogFull || h.mux.Stats().Unsaid == 0 || h.mux.Len() != 3 || room.Len() != 3 {
		t.Errorf("%v, %d unsaid, %d are in", err, h.mux.Stats().Unsaid, room.Len())
	}
	if err := room.Say(Unreliable, []byte("x")); err != nil {
		t.Error(err)
	}
}

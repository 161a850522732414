package core

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/admission"
)

// rush is a client and a server without sockets, of which one sends as fast as it can.
type rush struct {
	now    time.Time
	mux    *Mux
	client *Endpoint
	at     netip.AddrPort // the client's
	server netip.AddrPort
	train  []byte
	sizes  []int
	got    int
}

func newRush(tb testing.TB) *rush {
	now := time.Now()
	r := &rush{
		now: now,
		at:  netip.MustParseAddrPort("127.0.0.1:4000"), server: netip.MustParseAddrPort("127.0.0.1:7000"),
		mux: NewMux(now, Config{}, &Shared{Rand: rand.New(rand.NewPCG(1, 2))}, admission.Key{}),
	}
	r.dial(tb)
	return r
}

// dial connects a new client from the same address.
func (r *rush) dial(tb testing.TB) {
	r.client = NewClient(r.now, r.server, Config{}, &Shared{Rand: rand.New(rand.NewPCG(1, 2))})
	for range 5 {
		r.exchange()
	}
	if r.client.State() != StateOpen {
		tb.Fatalf("the client is %v", r.client.State())
	}
}

// exchange has the client's packets cross, then the server's.
func (r *rush) exchange() {
	r.now = r.now.Add(500 * time.Microsecond)
	r.gather(r.client.PollTransmit)
	r.scatter(r.at, r.mux.HandleDatagram)
	for _, ev, ok := r.mux.PollEvent(); ok; _, ev, ok = r.mux.PollEvent() {
		if ev.Kind == EventMessage {
			r.got++
		}
	}
	r.gather(r.mux.PollTransmit)
	r.scatter(r.server, r.client.HandleDatagram)
	for _, ok := r.client.PollEvent(); ok; _, ok = r.client.PollEvent() {
	}
}

func (r *rush) gather(poll func([]byte) (int, netip.AddrPort, bool)) {
	if r.train == nil {
		r.train = make([]byte, 1<<20)
	}
	used := 0
	r.sizes = r.sizes[:0]
	for n, _, ok := poll(r.train[:1500]); ok; n, _, ok = poll(r.train[used : used+1500]) {
		used += n
		r.sizes = append(r.sizes, n)
	}
}

func (r *rush) scatter(from netip.AddrPort, handle func(time.Time, netip.AddrPort, []byte)) {
	rest := r.train
	for _, n := range r.sizes {
		handle(r.now, from, rest[:n:n])
		rest = rest[n:]
	}
}

// A client that leaves while messages wait outside says goodbye after them, though at some
// moment nothing is on its way; and at once where the last of them needs no acknowledgement.
func TestAGoodbyeWaitsForWhatIsOffered(t *testing.T) {
	r := newRush(t)
	data := make([]byte, 64)
	offered := 0
	for r.client.Offer(r.now, Ordered, "n", data) {
		offered++
	}
	if offered < 1000 {
		t.Fatalf("the window takes %d messages", offered)
	}
	r.client.AwaitMore(r.now, true)
	r.client.Close(r.now, "")
	for range 100 {
		r.exchange()
	}
	if r.client.sender.InFlight(0) != 0 || r.client.State() != StateOpen {
		t.Fatalf("%d packets fly, and the client is %v", r.client.sender.InFlight(0), r.client.State())
	}
	if !r.client.Offer(r.now, Ordered, "n", data) || !r.client.Offer(r.now, Unreliable, "n", data) {
		t.Fatal("there is no room in an empty window")
	}
	r.client.AwaitMore(r.now, true)
	r.exchange()
	if r.client.State() != StateOpen {
		t.Fatalf("the client is %v", r.client.State())
	}
	if r.client.AwaitMore(r.now, false); r.client.State() != StateClosing {
		t.Errorf("the client is %v", r.client.State())
	}
	if r.got != offered+2 {
		t.Errorf("%d of %d messages came", r.got, offered+2)
	}
}

// Who comes back from the same address as the only one is let in: the server does not take it
// for who left.
func TestTheOnlyClientComesBack(t *testing.T) {
	r := newRush(t)
	for range 3 {
		r.client.Close(r.now, "")
		for r.mux.Len() > 0 {
			r.now = r.now.Add(100 * time.Millisecond)
			r.mux.HandleTimeout(r.now)
			r.exchange()
		}
		r.dial(t)
	}
}

// A server that was restarted, and takes less than the one before, ends the connection when
// something too large for it waits: nothing that Send took is lost in silence.
func TestWhatTheNextServerCannotTakeEndsTheConnection(t *testing.T) {
	d := newDrivenClient("open")
	d.e.extended = false
	if !d.e.Offer(d.now, Ordered, "n", make([]byte, 70_000)) {
		t.Error("it waits for ever")
	}
	if d.e.State() != StateClosing {
		t.Errorf("the connection is %v", d.e.State())
	}
}

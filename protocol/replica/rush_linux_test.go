package replica

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/shell/shelltest"
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
	shared := func() *Shared { return &Shared{Rand: rand.New(rand.NewPCG(1, 2))} }
	r := &rush{
		now: now,
		at:  netip.MustParseAddrPort("127.0.0.1:4000"), server: netip.MustParseAddrPort("127.0.0.1:7000"),
		mux: NewMux(now, Config{}, shared(), admission.Key{}),
	}
	r.client = NewClient(now, r.server, Config{}, shared())
	for range 5 {
		r.exchange()
	}
	if r.client.State() != StateOpen {
		tb.Fatalf("the client is %v", r.client.State())
	}
	return r
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

// BenchmarkRushEngine is what one ordered message of 64 bytes costs both engines, its
// acknowledgement included, where a thousand are on their way.
func BenchmarkRushEngine(b *testing.B) {
	r := newRush(b)
	data := make([]byte, 64)
	turn := func() {
		for range 1000 {
			if !r.client.offer(r.now, Ordered, "m", data) {
				break
			}
		}
		r.exchange()
	}
	for range 100 {
		turn()
	}
	b.ReportAllocs()
	r.got = 0
	start := shelltest.ProcessCPU()
	for b.Loop() {
		turn()
	}
	b.ReportMetric(float64(shelltest.ProcessCPU()-start)/float64(r.got), "cpu-ns/message")
	b.ReportMetric(0, "ns/op")
}

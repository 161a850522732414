package udp

import (
	"bytes"
	"net/netip"
	"sync"
	"testing"
	"time"

	"parley/internal/patient"
)

// kind is one way to have sockets: the suite runs over all of them.
type kind struct {
	name   string
	config Config
	memory bool
}

// route is one way to reach a listening socket.
type route struct {
	via    string
	listen string
	reach  string // host under which a socket at listen is reached
}

var routes = []route{
	{"IPv4", "127.0.0.1:0", "127.0.0.1"},
	{"IPv6", "[::1]:0", "::1"},
	{"dual-stack by IPv4", "[::]:0", "127.0.0.1"},
	{"dual-stack by IPv6", "[::]:0", "::1"},
	{"dual-stack by 4-in-6", "[::]:0", "::ffff:127.0.0.1"},
}

// place is a kind and a route: where one run of the suite happens.
type place struct {
	kind
	route
	network *Network // nil for the real one
}

// eachPlace runs f over every kind of socket and every route to it.
func eachPlace(t *testing.T, f func(t *testing.T, p *place)) {
	t.Helper()
	for _, k := range kinds() {
		for _, r := range routes {
			p := &place{kind: k, route: r}
			if k.memory {
				p.network = new(Network)
			} else if !haveIPv6() && r.via != "IPv4" {
				t.Logf("this machine has no IPv6: %s over %s is left out", k.name, r.via)
				continue
			}
			t.Run(k.name+" over "+r.via, func(t *testing.T) {
				patient.Test(t)
				f(t, p)
			})
		}
	}
}

// haveIPv6 is not cached: a machine's addresses are its own affair, and asking
// is cheap.
func haveIPv6() bool {
	s, err := Listen("[::1]:0", Config{Plain: true, Batch: 1, MaxDatagram: 64})
	if err != nil {
		return false
	}
	s.Close()
	return true
}

// merge returns the kind's config with the fields of c that a test wants. The
// batch is smaller than the default: the suite opens thousands of sockets, and
// the buffers of a large one cost more to clear than the tests take.
func (p *place) merge(c Config) Config {
	if c.Batch == 0 {
		c.Batch = 16
	}
	c.NoGSO, c.NoGRO, c.Plain = p.config.NoGSO, p.config.NoGRO, p.config.Plain
	return c
}

func (p *place) tryGroup(addr string, n int, c Config) ([]*Socket, error) {
	if p.network != nil {
		return p.network.ListenGroup(addr, n, p.merge(c))
	}
	return ListenGroup(addr, n, p.merge(c))
}

func (p *place) group(t testing.TB, n int, c Config) []*Socket {
	t.Helper()
	group, err := p.tryGroup(p.listen, n, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range group {
		ours.Store(s.LocalAddr().Port(), true)
		t.Cleanup(func() { s.Close() })
	}
	return group
}

func (p *place) open(t testing.TB, c Config) *Socket {
	t.Helper()
	return p.group(t, 1, c)[0]
}

func (p *place) dial(t testing.TB, to netip.AddrPort, c Config) *Socket {
	t.Helper()
	dial := Dial
	if p.network != nil {
		dial = p.network.Dial
	}
	s, err := dial(to.String(), p.merge(c))
	if err != nil {
		t.Fatal(err)
	}
	ours.Store(s.LocalAddr().Port(), true)
	t.Cleanup(func() { s.Close() })
	return s
}

// ours are the ports that this process has opened. A port that another program had a moment ago may still be sent to.
var ours sync.Map

// addr is the address under which s is reached.
func (p *place) addr(s *Socket) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(p.reach), s.LocalAddr().Port())
}

// got is a received datagram that was copied out of its batch.
type got struct {
	from netip.AddrPort
	data []byte
}

// collect reads until n datagrams are there that this process sent. Loopback loses nothing as long as
// the buffers have room, which tests see to.
func collect(t testing.TB, s *Socket, in *RecvBatch, n int) []got {
	t.Helper()
	defer patient.End().Stop()
	_, inMemory := s.driver.(*memory)
	var all []got
	for len(all) < n {
		if err := s.Read(in, time.Time{}); err != nil {
			t.Fatalf("read after %d of %d datagrams: %v", len(all), n, err)
		}
		count := 0
		for m := in.Next(); m != nil; m = in.Next() {
			if cap(m.Data) != len(m.Data) {
				t.Fatalf("a datagram of %d bytes has capacity %d: an append would reach its neighbour", len(m.Data), cap(m.Data))
			}
			if _, ok := ours.Load(m.From.Port()); ok || inMemory {
				all = append(all, got{m.From, bytes.Clone(m.Data)})
			}
			count++
		}
		if count != in.Len() {
			t.Fatalf("batch says %d datagrams and yields %d", in.Len(), count)
		}
	}
	if len(all) != n {
		t.Fatalf("got %d datagrams, want %d", len(all), n)
	}
	return all
}

// send writes datagrams to one address, in as few batches as they fit into.
func send(t testing.TB, s *Socket, to netip.AddrPort, datagrams ...[]byte) {
	t.Helper()
	out := s.NewSendBatch()
	for _, d := range datagrams {
		if !out.Append(d, to) {
			if err := s.Write(out); err != nil {
				t.Fatal(err)
			}
			if !out.Append(d, to) {
				t.Fatalf("a datagram of %d bytes does not fit into an empty batch", len(d))
			}
		}
	}
	if err := s.Write(out); err != nil {
		t.Fatal(err)
	}
	if out.Len() != 0 {
		t.Fatalf("%d datagrams left in the batch after Write", out.Len())
	}
}

func wantData(t testing.TB, all []got, want [][]byte) {
	t.Helper()
	for i := range want {
		if !bytes.Equal(all[i].data, want[i]) {
			t.Fatalf("datagram %d: got %d bytes %.16x, want %d bytes %.16x", i, len(all[i].data), all[i].data, len(want[i]), want[i])
		}
	}
}

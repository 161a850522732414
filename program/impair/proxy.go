package impair

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/metric"
	"parley/simnet"
)

// Config sets up a Proxy.
type Config struct {
	// Listen is the address for clients, host:port. With port 0 the system chooses the
	// port.
	Listen string

	// Target is the server, host:port.
	Target string

	// UDP and TCP choose the traffic that is passed on. If both are set, the two have the
	// same port. If neither is set, it is UDP.
	UDP, TCP bool

	// Up is the profile towards the server, and Down that of the way back.
	Up, Down simnet.Profile

	// Seed is the seed of the random draws. Zero means 1.
	Seed uint64
}

// Proxy passes traffic on with impairments.
type Proxy struct {
	cfg    Config
	start  time.Time
	target *net.UDPAddr
	udp    *net.UDPConn
	tcp    net.Listener
	sched  *schedule
	wg     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	flows  map[netip.AddrPort]*flow
	pairs  map[*pair]struct{} // of TCP connections
	born   uint64
	past   [2]simnet.Stats // of clients that are gone: up, down

	refused  atomic.Uint64 // clients beyond the bound, or that found no server
	overflow atomic.Uint64 // datagrams dropped because too much waited
	lost     atomic.Uint64 // segments of streams that came later
	held     atomic.Uint64 // times that a stream was not read because its queue was full
}

// Stats are the counters of a proxy.
type Stats struct {
	Clients  int          // clients now
	Refused  uint64       // clients beyond the bound, or whose server was unreachable
	Up, Down simnet.Stats // of datagrams; for streams, of segments
	Overflow uint64       // datagrams dropped because the proxy held too much
	Delayed  uint64       // segments of streams that a loss delayed
	Held     uint64       // times that a full queue held a stream's sender back
	Late     Lateness     // how late the proxy itself was
}

// Start starts a proxy. Its errors say what to do.
func Start(c Config) (*Proxy, error) {
	c.Seed = cmp.Or(c.Seed, 1)
	if !c.UDP && !c.TCP {
		c.UDP = true
	}
	for _, p := range []simnet.Profile{c.Up, c.Down} {
		if err := p.Validate(); err != nil {
			return nil, err
		}
	}
	target, err := net.ResolveUDPAddr("udp", c.Target)
	if err != nil {
		return nil, fmt.Errorf("impair: the address of the server, %q: %w; write host:port", c.Target, err)
	}
	p := &Proxy{cfg: c, start: time.Now(), target: target, flows: map[netip.AddrPort]*flow{}, pairs: map[*pair]struct{}{}}
	if err := p.listen(); err != nil {
		return nil, err
	}
	p.sched = newSchedule(maxPendingBytes)
	if p.udp != nil {
		p.wg.Go(p.readClients)
		p.wg.Go(p.forgetIdle)
	}
	if p.tcp != nil {
		p.wg.Go(p.acceptStreams)
	}
	return p, nil
}

// listen opens the sockets, both at the same port.
func (p *Proxy) listen() error {
	addr := p.cfg.Listen
	if p.cfg.TCP {
		l, err := p.listenStreams(addr)
		if err != nil {
			return fmt.Errorf("impair: %w", err)
		}
		p.tcp, addr = l, l.Addr().String()
	}
	if !p.cfg.UDP {
		return nil
	}
	local, err := net.ResolveUDPAddr("udp", addr)
	if err == nil {
		p.udp, err = net.ListenUDP("udp", local)
	}
	if err != nil {
		if p.tcp != nil {
			p.tcp.Close()
		}
		return fmt.Errorf("impair: %w", err)
	}
	p.udp.SetReadBuffer(4 << 20) // the least of several limits counts, so failing is no matter
	p.udp.SetWriteBuffer(4 << 20)
	return nil
}

// Addr returns the address at which the proxy listens.
func (p *Proxy) Addr() netip.AddrPort {
	if p.udp != nil {
		return canon(p.udp.LocalAddr().(*net.UDPAddr).AddrPort())
	}
	return canon(p.tcp.Addr().(*net.TCPAddr).AddrPort())
}

func canon(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// Close stops the proxy and cuts all connections. Datagrams in flight are dropped.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	var errs []error
	if p.udp != nil {
		errs = append(errs, p.udp.Close())
	}
	if p.tcp != nil {
		errs = append(errs, p.tcp.Close())
	}
	for _, f := range p.flows {
		f.conn.Close()
	}
	for x := range p.pairs {
		x.cut()
	}
	p.mu.Unlock()
	p.sched.close()
	p.wg.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("impair: %w", err)
		}
	}
	return nil
}

// Stats returns the counters.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{
		Clients: len(p.flows) + len(p.pairs), Up: p.past[0], Down: p.past[1],
		Refused: p.refused.Load(), Overflow: p.overflow.Load(), Delayed: p.lost.Load(), Held: p.held.Load(), Late: p.sched.lateness(),
	}
	for _, f := range p.flows {
		s.Up, s.Down = sum(s.Up, f.up.stats()), sum(s.Down, f.down.stats())
	}
	for x := range p.pairs {
		s.Up, s.Down = sum(s.Up, x.up.stats()), sum(s.Down, x.down.stats())
	}
	return s
}

var sums = metric.NewAdder[simnet.Stats]()

// sum adds the counters of two directions.
func sum(a, b simnet.Stats) simnet.Stats {
	sums.Add(&a, &b)
	return a
}

// shapers returns the two directions of a new client.
func (p *Proxy) shapers(up, down simnet.Profile) (*way, *way) {
	p.born++
	return &way{shaper: simnet.NewShaper(p.cfg.Seed, 2*p.born, up)},
		&way{shaper: simnet.NewShaper(p.cfg.Seed, 2*p.born+1, down)}
}

// way is one direction of one client, shared by who reads and who sends.
type way struct {
	mu     sync.Mutex
	shaper *simnet.Shaper
}

func (w *way) stats() simnet.Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shaper.Stats()
}

func (w *way) arrived(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shaper.Arrived(n)
}

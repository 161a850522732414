package hidden

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"

	"parley/internal/patient"
)

// tap leads one client to a server, over UDP and TCP at the same port. It keeps what the server has sent, loses some of the
// datagrams, and can be cut.
type tap struct {
	testing.TB
	to      string
	loss    float64
	late    func() // called for what a client sends over its stream, before it goes on
	packets *net.UDPConn
	streams net.Listener
	group   sync.WaitGroup

	mu   sync.Mutex
	rand *rand.Rand
	far  map[string]*net.UDPConn // by the client's address
	open []*net.TCPConn
	got  [][]byte // datagrams and, when they have ended, whole streams
}

func newTap(t testing.TB, to string, loss float64, seed uint64, late func()) *tap {
	t.Helper()
	p := &tap{TB: t, to: to, loss: loss, late: late, rand: rand.New(rand.NewPCG(seed, 1)), far: map[string]*net.UDPConn{}}
	for p.packets == nil { // the port of the stream may be taken for datagrams
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at := l.Addr().(*net.TCPAddr)
		if p.packets, err = net.ListenUDP("udp", &net.UDPAddr{IP: at.IP, Port: at.Port}); err != nil {
			l.Close()
			continue
		}
		p.streams = l
	}
	p.group.Go(p.carryPackets)
	p.group.Go(p.carryStreams)
	return p
}

func (p *tap) addr() string { return p.streams.Addr().String() }

// close cuts all connections. More calls do nothing.
func (p *tap) close() {
	p.streams.Close()
	p.packets.Close()
	p.mu.Lock()
	for _, s := range p.open {
		s.SetLinger(0)
		s.Close()
	}
	for _, c := range p.far {
		c.Close()
	}
	p.mu.Unlock()
	patient.Done(p.group.Wait)
}

func (p *tap) loses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rand.Float64() < p.loss
}

func (p *tap) carryPackets() {
	b := make([]byte, 1<<16)
	for {
		n, from, err := p.packets.ReadFromUDP(b)
		if err != nil {
			return
		}
		if far := p.farEnd(from); far != nil && !p.loses() {
			far.Write(b[:n])
		}
	}
}

// farEnd returns the far end of a client's datagrams, and carries what comes back.
func (p *tap) farEnd(from *net.UDPAddr) *net.UDPConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if far := p.far[from.String()]; far != nil {
		return far
	}
	conn, err := net.Dial("udp", p.to)
	if err != nil {
		return nil
	}
	far := conn.(*net.UDPConn)
	p.far[from.String()] = far
	p.group.Go(func() {
		b := make([]byte, 1<<16)
		for {
			n, err := far.Read(b)
			switch {
			case err == nil:
				p.mu.Lock()
				p.got = append(p.got, append([]byte(nil), b[:n]...))
				p.mu.Unlock()
				if !p.loses() { // what is lost was sent all the same
					p.packets.WriteToUDP(b[:n], from)
				}
			case !errors.Is(err, syscall.ECONNREFUSED): // which is of one datagram
				return
			}
		}
	})
	return far
}

func (p *tap) carryStreams() {
	for {
		near, err := p.streams.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.to)
		if err != nil {
			near.Close()
			continue
		}
		p.mu.Lock()
		p.open = append(p.open, near.(*net.TCPConn), far.(*net.TCPConn))
		p.mu.Unlock()
		p.group.Go(func() { carry(near, far, func([]byte) { p.late() }) })
		p.group.Go(func() {
			var stream []byte
			carry(far, near, func(b []byte) { stream = append(stream, b...) })
			p.mu.Lock()
			defer p.mu.Unlock()
			p.got = append(p.got, stream)
		})
	}
}

func carry(from, to net.Conn, look func([]byte)) {
	b := make([]byte, 1<<16)
	for {
		n, err := from.Read(b)
		look(b[:n])
		if _, failed := to.Write(b[:n]); err != nil || failed != nil {
			to.(*net.TCPConn).CloseWrite()
			return
		}
	}
}

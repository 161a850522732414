package field

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"

	"parley/internal/patient"
)

// Cable leads to a server, over UDP and TCP at the same port, and can be cut: then datagrams are lost and streams are reset.
type Cable struct {
	testing.TB
	to      string
	packets *net.UDPConn
	streams net.Listener
	group   sync.WaitGroup

	mu    sync.Mutex
	isCut bool
	ends  map[string]*net.UDPConn // the far end of each client's datagrams, by its address
	open  map[*net.TCPConn]bool
}

// NewCable returns a cable to an address, which ends with the test.
func NewCable(t testing.TB, to string) *Cable {
	t.Helper()
	c := &Cable{TB: t, to: to, ends: map[string]*net.UDPConn{}, open: map[*net.TCPConn]bool{}}
	for c.packets == nil { // the port of the stream may be taken for datagrams
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at := l.Addr().(*net.TCPAddr)
		if c.packets, err = net.ListenUDP("udp", &net.UDPAddr{IP: at.IP, Port: at.Port}); err != nil {
			l.Close()
			continue
		}
		c.streams = l
	}
	c.group.Go(c.carryPackets)
	c.group.Go(c.carryStreams)
	t.Cleanup(func() {
		c.streams.Close()
		c.packets.Close()
		c.Cut()
		c.mu.Lock()
		for _, far := range c.ends {
			far.Close()
		}
		c.mu.Unlock()
		patient.Done(c.group.Wait)
	})
	return c
}

// Addr returns where clients dial.
func (c *Cable) Addr() string { return c.streams.Addr().String() }

// Cut loses all that is sent from now on, and resets streams.
func (c *Cable) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = true
	for s := range c.open {
		s.SetLinger(0)
		s.Close()
	}
	clear(c.open)
}

// Mend has it carry again.
func (c *Cable) Mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = false
}

func (c *Cable) works() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.isCut
}

func (c *Cable) carryPackets() {
	b := make([]byte, 1<<16)
	for {
		n, from, err := c.packets.ReadFromUDP(b)
		if err != nil {
			return
		}
		if far := c.end(from); far != nil && c.works() {
			far.Write(b[:n])
		}
	}
}

// end returns the far end of a client's datagrams, and carries what comes back.
func (c *Cable) end(from *net.UDPAddr) *net.UDPConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if far := c.ends[from.String()]; far != nil {
		return far
	}
	conn, err := net.Dial("udp", c.to)
	if err != nil {
		return nil
	}
	far := conn.(*net.UDPConn)
	c.ends[from.String()] = far
	c.group.Go(func() {
		b := make([]byte, 1<<16)
		for {
			n, err := far.Read(b)
			switch {
			case err == nil && c.works():
				c.packets.WriteToUDP(b[:n], from)
			case err != nil && !isRefusedPort(err):
				return
			}
		}
	})
	return far
}

func (c *Cable) carryStreams() {
	for {
		near, err := c.streams.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.to)
		if err != nil {
			near.Close()
			continue
		}
		c.mu.Lock()
		for _, s := range []net.Conn{near, far} {
			c.open[s.(*net.TCPConn)] = true
		}
		c.mu.Unlock()
		if !c.works() {
			c.Cut()
		}
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			c.group.Go(func() {
				io.Copy(way[0], way[1])
				way[0].(*net.TCPConn).CloseWrite()
			})
		}
	}
}

// isRefusedPort reports whether an error is that of one datagram.
func isRefusedPort(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// Package cable is the network between the nodes of a cluster in tests: it cuts nodes off, and counts what goes between them.
package cable

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"parley/internal/patient"
)

// Cable is the network between nodes: each is reached at an address of the cable's, which passes bytes on, or holds them while one of
// the two is cut off. Nothing is lost: so TCP behaves over a network that comes back.
type Cable struct {
	fronts []net.Listener
	to     []string
	names  []string // of the nodes' servers: a connection begins with that of the one that makes it

	mu    sync.Mutex
	turn  chan struct{} // closed when something has changed
	ended chan struct{}
	cut   map[int]bool
	over  bool
	conns []net.Conn
	bytes []int64 // to each node
	work  sync.WaitGroup
}

// New lays a cable to nodes whose servers of NATS listen at addresses.
func New(t testing.TB, to []string) *Cable {
	t.Helper()
	c := &Cable{to: to, cut: map[int]bool{}, bytes: make([]int64, len(to)), turn: make(chan struct{}), ended: make(chan struct{})}
	for i := range to {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.fronts = append(c.fronts, l)
		c.names = append(c.names, "parley-"+strings.NewReplacer(".", "-", ":", "-").Replace(l.Addr().String())) // as package cluster names them, by what they advertise
		c.work.Go(func() { c.accept(i) })
	}
	t.Cleanup(c.close)
	return c
}

// Addrs returns where the cable's ends are: what the nodes are to be told of each other.
func (c *Cable) Addrs() (list []string) {
	for _, l := range c.fronts {
		list = append(list, l.Addr().String())
	}
	return list
}

func (c *Cable) close() {
	c.mu.Lock()
	c.over = true
	close(c.ended)
	for _, l := range c.fronts {
		l.Close()
	}
	for _, conn := range c.conns {
		conn.Close()
	}
	c.mu.Unlock()
	defer patient.End().Stop()
	c.work.Wait()
}

// Set cuts a node off, or connects it again.
func (c *Cable) Set(node int, cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut[node] = cut
	close(c.turn)
	c.turn = make(chan struct{})
}

// Carried returns the bytes that went between the nodes.
func (c *Cable) Carried() (sum int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.bytes {
		sum += n
	}
	return sum
}

// pass waits until nobody of a connection is cut off, and reports whether the test goes on. Who has made a connection is known once it says so:
// only the greeting of the other goes before.
func (c *Cable) pass(from *int, to, size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.over && c.held(*from, to) {
		turn := c.turn
		c.mu.Unlock()
		select {
		case <-turn:
		case <-c.ended:
		}
		c.mu.Lock()
	}
	c.bytes[to] += int64(size)
	return !c.over
}

func (c *Cable) held(from, to int) bool { return c.cut[to] || from >= 0 && c.cut[from] }

func (c *Cable) accept(to int) {
	for {
		in, err := c.fronts[to].Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", c.to[to])
		if err != nil {
			in.Close()
			continue
		}
		c.mu.Lock()
		c.conns = append(c.conns, in, out)
		if c.over {
			in.Close()
			out.Close()
		}
		c.mu.Unlock()
		from := -1
		c.work.Go(func() { c.copy(out, in, &from, to, true) })
		c.work.Go(func() { c.copy(in, out, &from, to, false) })
	}
}

// copy passes on what comes. The first bytes of the side that has connected say who it is.
func (c *Cable) copy(w, r net.Conn, from *int, to int, look bool) {
	defer w.Close()
	defer r.Close()
	b := make([]byte, 64<<10)
	for n, err := 0, error(nil); err != io.EOF; {
		n, err = r.Read(b)
		if look && n > 0 {
			c.mu.Lock()
			first := n // it names itself before others that it knows
			for i, name := range c.names {
				if at := bytes.Index(b[:first], []byte(`"`+name+`"`)); i != to && at >= 0 {
					*from, look, first = i, false, at
				}
			}
			c.mu.Unlock()
		}
		if n == 0 && err != nil || !c.pass(from, to, n) {
			return
		}
		if _, err := w.Write(b[:n]); err != nil {
			return
		}
	}
}

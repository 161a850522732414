package attack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/account/sqlite"
	"parley/arena"
	"parley/play/bots"
	"parley/test/field"
)

// maxPlayers are the places of the server under attack.
const maxPlayers = 32

// server is a server of all dialects with few places.
type server struct {
	*field.Server
	names int
	tries int // of honest players
}

func serve(t *testing.T) *server {
	t.Helper()
	c := field.Config()
	c.DataDir, c.Accounts, c.MaxPlayers, c.Sight = t.TempDir(), sqlite.OpenIn, maxPlayers, 0
	return &server{Server: field.Serve(t, arena.Game(), c)}
}

// came returns how many datagrams have come to a dialect's socket, those that the system dropped there included.
func (s *server) came(dialect string) int {
	st := s.Stats()
	socket := st.Replica.Socket
	switch dialect {
	case "stamp":
		socket = st.Stamp.Socket
	case "relay":
		socket = st.Relay.Socket
	}
	return int(socket.InDatagrams + socket.InDropped)
}

// enter has an honest player enter, who tries again when it is told to, as on a machine that is busy.
func (s *server) enter(t *testing.T, dialect string) *field.Visitor {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), field.Patience)
	defer cancel()
	s.names++
	c := bots.Config{Schema: s.Schema, Plain: true, New: true, Name: fmt.Sprintf("honest-%d", s.names), Password: "an honest word"}
	for {
		s.tries++
		v, err := field.Visit(ctx, dialect, s.At[dialect], c)
		if err == nil {
			return v
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: an honest player was kept out: %v; %+v", dialect, err, s.Stats())
		}
	}
}

// door is the adapter of a dialect.
type door struct {
	dialect string

	// knock is what a stranger sends first. Its source may be forged: it waits for nothing. nil for TCP.
	knock func(turn int) []byte

	// idle gets as far as a connection can without entering, and stays there.
	idle func(from netip.Addr, to string) (io.Closer, error)
}

var doors = []door{
	{"replica", func(int) []byte { return make([]byte, 5) }, idleReplica},
	{"stamp", func(int) []byte { return make([]byte, 13) }, idleStamp},
	{"relay", func(turn int) []byte { return []byte{0x50, 0, 0, byte(turn), 9} }, idleRelay},
	{"duplex", nil, func(from netip.Addr, to string) (io.Closer, error) { return idleTCP(from, to, 6) }}, // CONN_INIT
	{"realm", nil, func(from netip.Addr, to string) (io.Closer, error) { return idleTCP(from, to, 18, 0, 9) }},
}

// attacker returns one of many addresses of the loopback network.
func attacker(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, 8, byte(i >> 8), byte(i)})
}

func dialUDP(from netip.Addr, to string) (*net.UDPConn, error) {
	addr, err := net.ResolveUDPAddr("udp", to)
	if err != nil {
		return nil, err
	}
	// A port that no system gives out by itself: late answers to a source that is gone would else reach the sockets of other tests
	// that listen at every address.
	var c *net.UDPConn
	for range 100 {
		port := uint16(20_000 + attackerPort.Add(1)%10_000)
		c, err = net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, port)), addr)
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return c, err
}

var attackerPort atomic.Uint32

// ask sends until an answer comes that take takes.
func ask(c *net.UDPConn, b []byte, take func(answer []byte) bool) error {
	buf := make([]byte, 2048)
	for range 3 {
		if _, err := c.Write(b); err != nil {
			return err
		}
		for deadline := time.Now().Add(200 * time.Millisecond); ; {
			c.SetReadDeadline(deadline)
			n, err := c.Read(buf)
			if err != nil {
				break
			}
			if take(buf[:n]) {
				return nil
			}
		}
	}
	return nil // it is not answered: then it is that far
}

// idleReplica shakes hands, proves its address, answers whatever keeps it alive, and never links.
func idleReplica(from netip.Addr, to string) (io.Closer, error) {
	c, err := dialUDP(from, to)
	if err != nil {
		return nil, err
	}
	var zero uint64
	var at time.Time
	if err := ask(c, make([]byte, 5), func(b []byte) bool {
		if len(b) < 21 || b[0] != 0 || b[4] != 1 {
			return false
		}
		zero, at = binary.LittleEndian.Uint64(b[13:]), time.Now()
		return true
	}); err != nil || zero == 0 {
		return c, err
	}
	var sequence []byte
	err = ask(c, []byte{3, 1, 0}, func(b []byte) bool {
		if len(b) < 4 || b[0] != 2 || b[3] != 0 {
			return false
		}
		sequence = append([]byte(nil), b[1:3]...)
		return true
	})
	if err != nil || sequence == nil {
		return c, err
	}
	number := uint16(0)
	answer := func(sequence []byte) {
		number++
		now := zero + uint64(time.Since(at).Microseconds())
		b := append(binary.LittleEndian.AppendUint16([]byte{2}, number), 1, sequence[0], sequence[1])
		c.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, now), now))
	}
	answer(sequence)
	go each(c, func(b []byte) {
		if len(b) > 3 && b[0] == 2 && b[3] == 0 {
			answer(b[1:3])
		}
	})
	return c, nil
}

// each hands over datagrams until the socket is closed.
func each(c *net.UDPConn, take func(b []byte)) {
	c.SetReadDeadline(time.Time{})
	for buf := make([]byte, 2048); ; {
		n, err := c.Read(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		take(buf[:max(n, 0)])
	}
}

// idleStamp shakes hands and confirms what it must to stay: it watches, as all do in stamp, and so it has entered. What
// is bounded is how many of an address do.
func idleStamp(from netip.Addr, to string) (io.Closer, error) {
	c, err := dialUDP(from, to)
	if err != nil {
		return nil, err
	}
	var proof []byte
	err = ask(c, make([]byte, 13), func(b []byte) bool {
		if len(b) != 13 || b[0] != 0 || b[12] != 1 {
			return false
		}
		proof = append([]byte{1, 0, 1, 0}, b[4:12]...)
		return true
	})
	if err == nil && proof != nil {
		_, err = c.Write(proof)
	}
	return c, err
}

// idleRelay sends a package to the server, and does not answer its challenge.
func idleRelay(from netip.Addr, to string) (io.Closer, error) {
	c, err := dialUDP(from, to)
	if err == nil {
		_, err = c.Write([]byte{0x50, 0, 0, 0, 9})
	}
	return c, err
}

// idleTCP connects, says its first word and no more.
func idleTCP(from netip.Addr, to string, first ...byte) (io.Closer, error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Timeout: field.Patience}
	c, err := d.Dial("tcp", to)
	if err != nil {
		return nil, err
	}
	c.Write(first) // a server may have had enough of that address, and closed it
	return c, nil
}

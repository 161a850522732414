package udp

import (
	"fmt"
	"net/netip"
	"os"
	"time"

	"parley/internal/datagram"
)

// Socket is one UDP socket that reads and writes batches. One goroutine at a
// time reads and one at a time writes; they may be the same. Wake, Stats and
// Close may be called by any.
type Socket struct {
	driver driver
	config Config
	local  netip.AddrPort
	remote netip.AddrPort // set when dialled
	counts *counters

	// For Read, which calls serve and stops it at the first result.
	until   time.Time
	readErr error
	onRead  datagram.Turn
}

// driver is the part that differs between the kinds of socket: batched, plain, memory.
type driver interface {
	// serve fills in and calls turn, again and again, until turn returns Stop or the
	// socket is closed. The first call of turn comes at once.
	serve(in *RecvBatch, turn datagram.Turn) error

	// write sends all of out and counts what became of each datagram. It fails only when
	// the socket is closed.
	write(out *datagram.SendBatch) error

	// writeInTurn is write for the goroutine that is inside a turn of serve.
	writeInTurn(out *datagram.SendBatch) error

	newRecvBatch() *RecvBatch
	wake()
	buffers() (recv, send int)
	offload() (gso, gro bool)
	dropped() uint64 // by the system, before Read
	close() error
}

// RecvBatch holds the datagrams of one Read. It is made by the socket that fills it and is
// used with no other.
type RecvBatch struct {
	datagram.RecvBatch
	vectors recvVectors // what the system's calls need, see recv_linux.go
}

// Listen opens a socket on addr, written host:port. An empty host means all
// addresses of the machine, of both families where it has both; port 0 lets the
// system choose. The error is an *OpenError.
func Listen(addr string, c Config) (*Socket, error) {
	s, err := ListenGroup(addr, 1, c)
	if err != nil {
		return nil, err
	}
	return s[0], nil
}

// ListenGroup opens n sockets that share one port. The system spreads senders over them,
// and each sender stays with its socket as long as the group lives. The first socket is
// bound without sharing, so that a port which another program already shares is an error.
// Otherwise that program would silently get a part of the traffic.
func ListenGroup(addr string, n int, c Config) ([]*Socket, error) {
	c = c.withDefaults()
	at, err := resolve(addr)
	if err != nil {
		return nil, &OpenError{"listen on", addr, err}
	}
	group := make([]*Socket, 0, max(n, 1))
	for i := range cap(group) {
		s, err := open(endpoints{local: at, member: i, members: cap(group)}, c)
		if err != nil {
			for _, s := range group {
				s.Close()
			}
			return nil, &OpenError{"listen on", addr, err}
		}
		at = netip.AddrPortFrom(at.Addr(), s.local.Port())
		group = append(group, s)
	}
	return group, nil
}

// Dial opens a socket that talks to one peer: it receives from no other, and a datagram
// to another address is lost and counted as FaultBadAddress. Dial itself sends nothing.
// The error is an *OpenError.
func Dial(addr string, c Config) (*Socket, error) {
	peer, err := resolvePeer(addr)
	if err != nil {
		return nil, &OpenError{"dial", addr, err}
	}
	s, err := open(endpoints{remote: peer}, c.withDefaults())
	if err != nil {
		return nil, &OpenError{"dial", addr, err}
	}
	return s, nil
}

// endpoints says which socket to open: number member of a group of members sockets at
// local or, if remote is set, a socket that is connected to it.
type endpoints struct {
	local, remote   netip.AddrPort
	member, members int
}

func newSocket(d driver, c Config, local, remote netip.AddrPort, counts *counters) *Socket {
	s := &Socket{driver: d, config: c, local: local, remote: remote, counts: counts}
	s.onRead = s.readTurn
	return s
}

// LocalAddr returns the address that the socket is bound to.
func (s *Socket) LocalAddr() netip.AddrPort { return s.local }

// RemoteAddr returns the peer of a dialled socket, or the zero AddrPort.
func (s *Socket) RemoteAddr() netip.AddrPort { return s.remote }

// Buffers returns the sizes of the kernel's buffers in bytes, as granted.
func (s *Socket) Buffers() (recv, send int) { return s.driver.buffers() }

// Offload reports whether the kernel joins datagrams on sending and receiving. GSO is
// switched off for good once it turns out not to work.
func (s *Socket) Offload() (gso, gro bool) { return s.driver.offload() }

// Stats returns the counters as they are now.
func (s *Socket) Stats() datagram.Stats {
	st := s.counts.snapshot()
	st.InDropped += s.driver.dropped()
	return st
}

// NewRecvBatch returns a batch for this socket's Read.
func (s *Socket) NewRecvBatch() *RecvBatch { return s.driver.newRecvBatch() }

// Serve reads into a batch of its own and calls turn, as datagram.Carrier says.
func (s *Socket) Serve(turn datagram.Turn) error {
	return s.driver.serve(s.driver.newRecvBatch(), turn)
}

// NewSendBatch returns a batch that fits this socket's Config.
func (s *Socket) NewSendBatch() *datagram.SendBatch { return NewSendBatch(s.config) }

// Read waits for datagrams and fills in with at least one. If until is zero, Read waits
// for ever. If until has passed, Read does not wait. The error is os.ErrDeadlineExceeded
// when until came first, ErrWoken when Wake did, ErrClosed after Close. Transient errors
// and datagrams that are too large are counted, and do not end a Read.
func (s *Socket) Read(in *RecvBatch, until time.Time) error {
	s.until = until
	if err := s.driver.serve(in, s.onRead); err != nil {
		return err
	}
	return s.readErr
}

func (s *Socket) readTurn(in *datagram.RecvBatch, woken bool) (datagram.Next, time.Time) {
	switch {
	case in.More():
		s.readErr = nil
	case woken:
		s.readErr = ErrWoken
	case !s.until.IsZero() && !s.until.After(time.Now()):
		s.readErr = os.ErrDeadlineExceeded
	default:
		return datagram.Wait, s.until
	}
	// A wake that came together with datagrams belongs to the next Read.
	if woken && s.readErr == nil {
		s.driver.wake()
	}
	return datagram.Stop, time.Time{}
}

// Write sends all datagrams of out and empties it. It waits at most a few milliseconds
// for room in the kernel's buffer. A datagram that cannot be sent is counted, and the
// others are still sent. The error is ErrClosed or nil.
func (s *Socket) Write(out *datagram.SendBatch) error {
	if out.Len() == 0 {
		return nil
	}
	err := s.driver.write(out)
	out.Reset()
	return err
}

// WriteInTurn is Write for the goroutine that is inside a turn of Serve.
func (s *Socket) WriteInTurn(out *datagram.SendBatch) error {
	err := s.driver.writeInTurn(out)
	out.Reset()
	return err
}

// Wake ends the Read that is waiting, or else the next one. Many calls before that Read
// count as one. It costs one atomic operation while the reader is busy.
func (s *Socket) Wake() { s.driver.wake() }

// Close closes the socket and ends a Read that waits. It must not be called
// from inside a loop's callbacks.
func (s *Socket) Close() error {
	if err := s.driver.close(); err != nil {
		return fmt.Errorf("udp: close: %w", err)
	}
	return nil
}

// NewSendBatch returns an empty batch of a size that fits c.
func NewSendBatch(c Config) *datagram.SendBatch {
	c = c.withDefaults()
	return datagram.NewSendBatch(c.Batch, c.MaxDatagram)
}

package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"parley/internal/datagram"
)

// plain is the portable socket: it uses package net and moves one datagram in a system
// call. A goroutine of its own reads into the queue, because package net can neither read
// without waiting nor wait for a datagram and a wake at once.
type plain struct {
	*queue
	conn       packetConn
	config     Config
	remote     netip.AddrPort
	recv, send int // buffers as granted
	done       chan struct{}
}

// packetConn is the part of *net.UDPConn that is used, and where tests inject faults.
type packetConn interface {
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
	Write(b []byte) (int, error)
	Close() error
}

func newPlain(conn packetConn, c Config, remote netip.AddrPort, recv, send int, counts *counters) *plain {
	p := &plain{
		// The reader holds one batch while the next fills up.
		queue:  newQueue(2*c.Batch, counts),
		conn:   conn,
		config: c,
		remote: remote,
		recv:   recv,
		send:   send,
		done:   make(chan struct{}),
	}
	go p.feed()
	return p
}

// feed reads until the socket is closed. While the queue is full it does not read, so the
// kernel's buffer fills, as it does for the other sockets.
func (p *plain) feed() {
	defer close(p.done)
	strange := 0
	for {
		buf := p.reserve()
		if buf == nil {
			return
		}
		n, from, err := p.conn.ReadFromUDPAddrPort(buf)
		if err == nil {
			strange = 0
			p.commit(n, Canonical(from))
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		fault := faultOf(err)
		if fault == datagram.FaultTooBig {
			p.commit(len(buf), Canonical(from)) // Windows reports a truncated datagram as an error
			continue
		}
		p.counts.inFaults[fault].Add(1)
		if fault != datagram.FaultOther && fault != datagram.FaultBadAddress {
			continue
		}
		if strange++; strange >= maxStrangeErrors {
			p.fail(fmt.Errorf("udp: read: %s, %d times in a row: %w", fault, strange, err))
			return
		}
	}
}

// reserve waits for a free slot and returns its buffer, which is one byte longer than the
// largest datagram: a datagram that fills it was too large. It returns nil when the
// socket is closed.
func (p *plain) reserve() []byte {
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil
		}
		if s := p.slot(); s != nil {
			if s.data == nil {
				s.data = make([]byte, p.config.MaxDatagram+1)
			}
			buf := s.data[:cap(s.data)]
			p.mu.Unlock()
			return buf
		}
		p.mu.Unlock()
		<-p.room
	}
}

// commit makes the reserved slot part of the queue.
func (p *plain) commit(n int, from netip.AddrPort) {
	p.mu.Lock()
	s := p.slot()
	if s != nil {
		s.from, s.data = from, s.data[:n]
		p.count++
	}
	p.mu.Unlock()
	notify(p.signal)
}

// fail ends the queue with an error, once it is empty.
func (p *plain) fail(err error) {
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
	notify(p.signal)
}

func (p *plain) write(out *datagram.SendBatch) error {
	var t datagram.Tally
	entries := out.Entries()
	for i := range entries {
		e := &entries[i]
		err := p.writeOne(out.Payload(e), e.To)
		switch {
		case err == nil:
			t.Datagrams++
			t.Bytes += uint64(e.N)
		case errors.Is(err, net.ErrClosed):
			p.counts.lost(datagram.FaultOther, out.Len()-i)
			if t.Datagrams > 0 {
				p.counts.sent(&t)
			}
			return ErrClosed
		default:
			p.counts.lost(sendFault(err), 1)
		}
	}
	if t.Datagrams > 0 {
		p.counts.sent(&t)
	}
	return nil
}

// writeOne sends one datagram. A send that was interrupted, or refused because of an
// earlier datagram, is tried once more.
func (p *plain) writeOne(b []byte, to netip.AddrPort) error {
	if _, ok := zoneIndex(to.Addr()); !ok || p.remote.IsValid() && Canonical(to) != p.remote {
		return errBadAddress
	}
	var err error
	for range 2 {
		if p.remote.IsValid() {
			_, err = p.conn.Write(b)
		} else {
			_, err = p.conn.WriteToUDPAddrPort(b, to)
		}
		if err == nil {
			return nil
		}
		f := faultOf(err)
		if f != datagram.FaultInterrupted && f != datagram.FaultRefused && f != datagram.FaultWouldBlock {
			return err
		}
		p.counts.outFaults[f].Add(1)
	}
	return err
}

var errBadAddress = errors.New("udp: an address that this socket cannot send to")

// sendFault names an error of package net, which has its own errors for addresses of the
// wrong family.
func sendFault(err error) datagram.Fault {
	var sys *os.SyscallError
	if !errors.As(err, &sys) {
		return datagram.FaultBadAddress
	}
	return faultOf(err)
}

func (p *plain) writeInTurn(out *datagram.SendBatch) error { return p.write(out) }

func (p *plain) newRecvBatch() *RecvBatch {
	return &RecvBatch{RecvBatch: datagram.NewRecvBatch(p.config.Batch, p.config.MaxDatagram)}
}

func (p *plain) buffers() (recv, send int) { return p.recv, p.send }

func (p *plain) offload() (gso, gro bool) { return false, false }

func (p *plain) dropped() uint64 { return 0 }

func (p *plain) close() error {
	if !p.shut() {
		return nil
	}
	err := p.conn.Close()
	<-p.done
	return err
}

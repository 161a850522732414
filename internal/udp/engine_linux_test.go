package udp

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/reliable"
	"parley/internal/serial"

	"golang.org/x/sys/unix"
)

// engineCore is a server core with the whole engine in it: each datagram brings
// a reliable ordered message and acknowledges one of ours, and is answered by
// one that does the same. So one datagram in and one out do all the work of a
// reliable exchange both ways: unwrap, filter, order, deliver, acknowledge, let
// go, number, keep, pace, transmit, and the timers of it all.
//
//	number u16 · acknowledged u16 · payload, little endian
type engineCore struct {
	peers   map[netip.AddrPort]*enginePeer
	busy    []*enginePeer // with something to send
	now     time.Time
	next    time.Time // no peer has a timeout earlier; zero if none
	send    *reliable.SendConfig
	recv    *reliable.ReceiveConfig
	buffers reliable.Pool
	rand    *rand.Rand
	reply   [payload]byte
	got     int
}

type enginePeer struct {
	addr     netip.AddrPort
	sender   reliable.Sender
	receiver reliable.Receiver
	newest   uint64
	owed     [1]uint64
	busy     bool
}

func newEngineCore() *engineCore {
	return &engineCore{
		peers: map[netip.AddrPort]*enginePeer{},
		send:  reliable.SendConfig{}.Filled(),
		recv:  reliable.ReceiveConfig{Rules: [2]reliable.Rule{reliable.Contiguous}}.Filled(),
		rand:  rand.New(rand.NewPCG(1, 2)),
	}
}

func (c *engineCore) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	c.now = now
	p := c.peers[from]
	if p == nil {
		p = &enginePeer{
			addr:     from,
			sender:   reliable.NewSender(now, 1, c.send, &c.buffers, c.rand),
			receiver: reliable.NewReceiver(now, 1, c.recv, &c.buffers),
		}
		c.peers[from] = p
	}
	if acked := binary.LittleEndian.Uint16(b[2:]); acked != 0 {
		p.sender.Ack(now, serial.Bits16.Unwrap(p.sender.Next(), uint32(acked)))
	}
	n := serial.Bits16.Unwrap(p.newest, uint32(binary.LittleEndian.Uint16(b)))
	if p.receiver.Receive(now, reliable.Packet{Number: n, Reliable: true, Lane: 1, Data: b}) != reliable.Ready {
		return
	}
	p.newest = n
	for d, ok := p.receiver.Next(now); ok; d, ok = p.receiver.Next(now) {
		c.got++
		copy(c.reply[4:], d.Data[4:])
		binary.LittleEndian.PutUint16(c.reply[:], uint16(p.sender.Next()))
		if err := p.sender.Send(now, c.reply[:], reliable.Options{Lane: 1}); err != nil {
			panic(err)
		}
	}
	if !p.busy {
		p.busy = true
		c.busy = append(c.busy, p)
	}
}

func (c *engineCore) HandleTimeout(now time.Time) {
	c.now, c.next = now, time.Time{}
	for _, p := range c.peers {
		p.sender.HandleTimeout(now)
		c.noteTimeout(p)
	}
}

func (c *engineCore) NextTimeout() (time.Time, bool) { return c.next, !c.next.IsZero() }

func (c *engineCore) noteTimeout(p *enginePeer) {
	if at, ok := p.sender.NextTimeout(); ok && (c.next.IsZero() || at.Before(c.next)) {
		c.next = at
	}
}

func (c *engineCore) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	for len(c.busy) > 0 {
		p := c.busy[len(c.busy)-1]
		if t, ok := p.sender.Poll(c.now); ok {
			n := copy(buf, t.Packet)
			binary.LittleEndian.PutUint16(buf[2:], 0)
			if p.receiver.Acks(c.now, p.owed[:]) > 0 {
				binary.LittleEndian.PutUint16(buf[2:], uint16(p.owed[0]))
			}
			return n, p.addr, true
		}
		p.busy = false
		c.busy = c.busy[:len(c.busy)-1]
		c.noteTimeout(p)
	}
	return 0, netip.AddrPort{}, false
}

// engineCrowd is a crowd whose members number and acknowledge.
type engineCrowd struct {
	*crowd
	numbers []uint16
}

func (c *engineCrowd) send(tb testing.TB, to netip.AddrPort) {
	sa := &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	for i, fd := range c.fds {
		c.numbers[i]++
		if c.numbers[i] == 0 {
			tb.Fatal("the members of the crowd have used up their numbers")
		}
		binary.LittleEndian.PutUint16(c.buf, c.numbers[i])
		binary.LittleEndian.PutUint16(c.buf[2:], c.numbers[i]-1) // our numbers run alongside
		if err := unix.Sendto(fd, c.buf, 0, sa); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkEngineEcho is the bar of the ground: a loop with the engine of one
// reliable exchange a datagram against the bare batched echo.
func BenchmarkEngineEcho(b *testing.B) {
	for _, batch := range []int{16, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s := mustListen(b, Config{Batch: batch})
			core := newEngineCore()
			e := newEchoLoop(b, s, core)
			f := newFloor(b, batch, 2048)
			crowds := map[bool]*engineCrowd{}
			for _, ours := range []bool{true, false} {
				crowds[ours] = &engineCrowd{newCrowd(b, round, payload), make([]uint16, round)}
			}
			rounds := 0
			b.ReportAllocs()
			(&contest{
				n:      round,
				ours:   func() { e.echo(round) },
				theirs: func() { f.echo(round) },
				prepare: func(ours bool) {
					to := f.addr
					if ours {
						to = s.LocalAddr()
						rounds++
					}
					if !ours {
						crowds[ours].numbers[0] = 0
						clear(crowds[ours].numbers)
					}
					crowds[ours].send(b, to)
				},
				clean: func(ours bool) { crowds[ours].drain(b, round) },
			}).run(b)
			if core.got != rounds*round {
				b.Errorf("%d messages were delivered, want %d", core.got, rounds*round)
			}
		})
	}
}

// The packet path with the engine in it allocates nothing.
func TestEngineEchoAllocatesNothing(t *testing.T) {
	s := mustListen(t, Config{})
	e := newEchoLoop(t, s, newEngineCore())
	crowd := &engineCrowd{newCrowd(t, round, payload), make([]uint16, round)}
	once := func() {
		crowd.send(t, s.LocalAddr())
		e.echo(round)
		crowd.drain(t, round)
	}
	for range 20 {
		once()
	}
	if n := testing.AllocsPerRun(100, once); n > 1 { // one is the address of the crowd's own send
		t.Errorf("%.0f allocations a round of %d datagrams", n, round)
	}
}

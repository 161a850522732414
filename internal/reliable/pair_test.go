package reliable

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
	"time"

	"parley/internal/serial"
)

// peer is a small dialect of the tests: the engine behind the seam of the real
// ones. A packet is
//
//	crc u32 · kind u8 (0 data, 1 acks, 2 keep-alive) · flags u8 · number (2 to 4 bytes, wrapped) · index u32 · filler
//	flags: bit 0 reliable, bit 1 lane 1, bits 2–6 the link
//
// and an acks packet is crc, kind and numbers.
type peer struct {
	sender   Sender
	receiver Receiver
	bits     serial.Bits
	rule     Rule
	to       netip.AddrPort
	oneEach  bool // one acknowledgement a datagram, as in replica
	stalled  bool // the application does not read

	recvNear uint64 // newest received number, for unwrapping
	now      time.Time
	loose    []pending // unreliable packets to go out
	ackBuf   []uint64
	scratch  []byte

	got       []message
	handle    func(now time.Time, m message)
	badCRC    int
	datagrams int
}

type message struct {
	index    uint32
	reliable bool
	ordered  bool
	number   uint64
	size     int
}

type pending struct{ data []byte }

type peerConfig struct {
	bits  serial.Bits
	first uint64
	send  *SendConfig
	recv  *ReceiveConfig
	rule  Rule
	seed  uint64
}

func newPeer(now time.Time, c peerConfig, to netip.AddrPort) *peer {
	if c.bits == 0 {
		c.bits = serial.Bits16
	}
	p := &peer{bits: c.bits, rule: c.rule, to: to, oneEach: c.recv == nil || c.recv.AckDelay == 0, now: now}
	b := new(Pool)
	p.sender = NewSender(now, c.first, c.send, b, newRand(c.seed))
	p.receiver = NewReceiver(now, c.first, c.recv, b)
	p.recvNear = c.first
	p.ackBuf = make([]uint64, 168)
	return p
}

// send sends one message; ordered ones go by the rule of the lane.
func (p *peer) send(now time.Time, size int, reliable, ordered bool, index uint32) error {
	p.now = now
	flags := byte(0)
	o := Options{}
	if reliable {
		flags |= 1
	}
	if ordered {
		if err := p.mayOrder(&flags, &o); err != nil {
			return err
		}
	}
	if !reliable {
		if p.sender.spanUsed() || p.sender.failed != 0 {
			_, err := p.sender.Take(now, size)
			return err
		}
		p.scratch = p.encode(p.scratch[:0], flags, index, size)
		if _, err := p.sender.Take(now, size); err != nil {
			return err
		}
		p.loose = append(p.loose, pending{append([]byte(nil), p.scratch...)})
		return nil
	}
	p.scratch = p.encode(p.scratch[:0], flags, index, size)
	return p.sender.Send(now, p.scratch, o)
}

// keepAlive sends a datagram that only shows where this peer is.
func (p *peer) keepAlive() {
	b := []byte{0, 0, 0, 0, 2}
	binary.LittleEndian.PutUint32(b, crc32.ChecksumIEEE(b[4:]))
	p.loose = append(p.loose, pending{b})
}

// mayOrder sets what an ordered packet carries, or says that it must wait.
func (p *peer) mayOrder(flags *byte, o *Options) error {
	*flags |= 2
	o.Lane = 1
	switch p.rule {
	case Linked:
		back := p.sender.Link(1)
		if back > 31 {
			return ErrWindowFull
		}
		*flags |= byte(back << 2)
	case Patient:
		if p.sender.InFlight(1) > 0 {
			return ErrWindowFull
		}
	}
	return nil
}

func (p *peer) encode(b []byte, flags byte, index uint32, size int) []byte {
	b = append(b, 0, 0, 0, 0, 0, flags)
	b = p.appendNumber(b, p.sender.Next())
	b = binary.LittleEndian.AppendUint32(b, index)
	for len(b) < size {
		b = append(b, byte(len(b)))
	}
	binary.LittleEndian.PutUint32(b, crc32.ChecksumIEEE(b[4:]))
	return b
}

func (p *peer) appendNumber(b []byte, n uint64) []byte {
	for i := range int(p.bits / 8) {
		b = append(b, byte(n>>(8*i)))
	}
	return b
}

func (p *peer) number(b []byte) uint32 {
	n := uint32(0)
	for i := range int(p.bits / 8) {
		n |= uint32(b[i]) << (8 * i)
	}
	return n
}

func (p *peer) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	p.now = now
	if len(b) < 5 || binary.LittleEndian.Uint32(b) != crc32.ChecksumIEEE(b[4:]) {
		p.badCRC++
		return
	}
	p.to = from
	if b[4] == 2 {
		return
	}
	w := int(p.bits / 8)
	if b[4] == 1 {
		for a := b[5:]; len(a) >= w; a = a[w:] {
			p.sender.Ack(now, p.bits.Unwrap(p.sender.Next(), p.number(a)))
		}
		return
	}
	flags := b[5]
	n := p.bits.Unwrap(p.recvNear, p.number(b[6:]))
	pk := Packet{Number: n, Reliable: flags&1 != 0, Back: uint64(flags >> 2 & 31), Data: b}
	if flags&2 != 0 {
		pk.Lane = 1
	}
	p.receiver.SetRTT(p.sender.RTT())
	switch p.receiver.Receive(now, pk) {
	case Ready, Held:
		p.recvNear = max(p.recvNear, n)
	}
}

func (p *peer) HandleTimeout(now time.Time) {
	p.now = now
	p.sender.HandleTimeout(now)
	p.receiver.HandleTimeout(now)
}

func (p *peer) NextTimeout() (time.Time, bool) {
	a, okA := p.sender.NextTimeout()
	b, okB := p.receiver.NextTimeout()
	if !okA || okB && b.Before(a) {
		return b, okB
	}
	return a, okA
}

// drain gives the application what is ready.
func (p *peer) drain(now time.Time) {
	p.now = now
	for !p.stalled {
		d, ok := p.receiver.Next(now)
		if !ok {
			return
		}
		w := int(p.bits / 8)
		m := message{
			index:    binary.LittleEndian.Uint32(d.Data[6+w:]),
			reliable: d.Data[5]&1 != 0, ordered: d.Data[5]&2 != 0,
			number: d.Number, size: len(d.Data),
		}
		if p.handle != nil {
			p.handle(now, m)
		} else {
			p.got = append(p.got, m)
		}
	}
}

func (p *peer) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if n := p.pollAcks(buf); n > 0 {
		p.datagrams++
		return n, p.to, true
	}
	if len(p.loose) > 0 {
		n := copy(buf, p.loose[0].data)
		p.loose = p.loose[1:]
		p.datagrams++
		return n, p.to, true
	}
	if t, ok := p.sender.Poll(p.now); ok {
		p.datagrams++
		return copy(buf, t.Packet), p.to, true
	}
	return 0, netip.AddrPort{}, false
}

func (p *peer) pollAcks(buf []byte) int {
	limit := len(p.ackBuf)
	if p.oneEach {
		limit = 1
	}
	n := p.receiver.Acks(p.now, p.ackBuf[:limit])
	if n == 0 {
		return 0
	}
	b := append(buf[:0], 0, 0, 0, 0, 1)
	for _, a := range p.ackBuf[:n] {
		b = p.appendNumber(b, a)
	}
	binary.LittleEndian.PutUint32(b, crc32.ChecksumIEEE(b[4:]))
	return len(b)
}

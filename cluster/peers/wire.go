package peers

import (
	"encoding/binary"
	"math/bits"
	"time"
)

// A message is of one node, for all others of the room. Numbers are little endian; v is a varint.
//
//	message   node u64, then
//	 1 here       participants v, turn v, count v, then of each node that is waited for: node u64, its turn v
//	 2 package    player u16, connection u32, mode u8 (bit 7: its sender sends more than is taken), then of a reliable one: the lowest number that is
//	              not confirmed v, and how much higher its own is v; then size v, payload
//	 3 confirmed  node u64, player u16, connection u32, next v, bits u64
//	 4 end        player u16, connection u32
const (
	itemHere = iota + 1
	itemPackage
	itemConfirmed
	itemEnd
)

const pressedBit = 0x80

// open returns the message that is being made, with room for n more bytes; nil if too much waits.
func (l *Link) open(n int) []byte {
	if l.waiting+n > maxWaiting {
		l.stats.Overflow++
		return nil
	}
	if k := len(l.messages); k > 0 && len(l.messages[k-1])+n <= maxMessage {
		return l.messages[k-1]
	}
	var b []byte
	if k := len(l.spare); k > 0 {
		b, l.spare = l.spare[k-1][:0], l.spare[:k-1]
	}
	b = binary.LittleEndian.AppendUint64(b, l.cfg.Node)
	l.messages = append(l.messages, b)
	l.waiting += len(b)
	return b
}

// made puts back the message that open returned.
func (l *Link) made(b []byte) {
	k := len(l.messages) - 1
	l.waiting += len(b) - len(l.messages[k])
	l.messages[k] = b
}

func (l *Link) say() {
	b := l.open(32 + 18*len(l.nodes))
	if b == nil {
		return
	}
	b = binary.AppendUvarint(append(b, itemHere), uint64(l.local))
	b = binary.AppendUvarint(b, l.turn)
	b = binary.AppendUvarint(b, uint64(bits.OnesCount64(l.mask)))
	for id, n := range l.nodes {
		if n.slot >= 0 {
			b = binary.AppendUvarint(binary.LittleEndian.AppendUint64(b, id), n.turn)
		}
	}
	l.made(b)
}

func appendKey(b []byte, k Key) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint16(b, k.Player), k.Conn)
}

func (l *Link) put(k Key, mode uint8, pressed bool, low, number uint64, payload []byte) {
	b := l.open(len(payload) + 32)
	if b == nil {
		return
	}
	b = appendKey(append(b, itemPackage), k)
	if b = append(b, mode); pressed {
		b[len(b)-1] |= pressedBit
	}
	if mode != Unreliable {
		b = binary.AppendUvarint(binary.AppendUvarint(b, low), number-low)
	}
	l.made(append(binary.AppendUvarint(b, uint64(len(payload))), payload...))
}

func (l *Link) putConfirmation(r *receiving) {
	b := l.open(40)
	if b == nil {
		return
	}
	b = binary.LittleEndian.AppendUint64(append(b, itemConfirmed), r.from.Node)
	b = binary.AppendUvarint(appendKey(b, r.from.Key), r.next)
	l.made(binary.LittleEndian.AppendUint64(b, r.taken))
}

func (l *Link) putEnd(k Key) {
	if b := l.open(8); b != nil {
		l.made(appendKey(append(b, itemEnd), k))
	}
}

// PollTransmit returns the next message for the other nodes. It is good until the next call of the Link.
func (l *Link) PollTransmit() ([]byte, bool) {
	if len(l.messages) == 0 {
		return nil, false
	}
	b := l.messages[0]
	l.messages = append(l.messages[:0], l.messages[1:]...)
	l.waiting -= len(b)
	if len(l.spare) < 4 {
		l.spare = append(l.spare, b)
	}
	return b, true
}

// reader takes a message apart.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return make([]byte, min(max(n, 0), 8))
	}
	part := r.b[:n]
	r.b = r.b[n:]
	return part
}

func (r *reader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

func (r *reader) key() (k Key) {
	k.Player = binary.LittleEndian.Uint16(r.take(2))
	k.Conn = binary.LittleEndian.Uint32(r.take(4))
	return k
}

func (r *reader) v() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Handle takes a message of another node. One of this node is left alone.
func (l *Link) Handle(now time.Time, b []byte) {
	r := reader{b: b}
	node := r.u64()
	if node == l.cfg.Node || r.bad {
		return
	}
	if n := l.nodes[node]; n != nil {
		n.heard = now
	}
	for len(r.b) > 0 && !r.bad {
		l.item(now, node, &r)
	}
	if r.bad {
		l.stats.Bad++
	}
}

func (l *Link) item(now time.Time, node uint64, r *reader) {
	switch r.take(1)[0] {
	case itemHere:
		participants, turn, count := r.v(), r.v(), r.v()
		if r.bad {
			return
		}
		l.meet(now, node, int(min(participants, 1<<16)), turn)
		for ; count > 0 && !r.bad; count-- {
			id, turn := r.u64(), r.v()
			if n := l.nodes[node]; n != nil && id == l.cfg.Node && turn == l.turn && !r.bad {
				n.echoes = min(n.echoes+1, sureAfter)
			}
		}
	case itemPackage:
		k := r.key()
		mode := r.take(1)[0]
		pressed := mode&pressedBit != 0
		low, number := uint64(0), uint64(0)
		if mode &^= pressedBit; mode != Unreliable {
			low = r.v()
			number = low + r.v()
		}
		if payload := r.take(int(min(r.v(), maxMessage))); !r.bad && number >= low {
			l.receive(now, From{node, k}, mode, pressed, low, number, payload)
		}
	case itemConfirmed:
		to, k, next, taken := r.u64(), r.key(), r.v(), r.u64()
		if !r.bad && to == l.cfg.Node {
			l.confirmed(node, k, next, taken)
		}
	case itemEnd:
		if k := r.key(); !r.bad {
			l.end(now, From{node, k})
		}
	default:
		r.bad = true
	}
}

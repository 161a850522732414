package core

import (
	"encoding/binary"
	"slices"

	"parley/internal/lend"
	"parley/internal/reliable"
)

// A tick of a room in which all see the same is the same bytes for all: what the clients'
// packets differ in is their number and their time. So it is written once, as a frame, and
// each connection sends its copy. Loss is rare, and mended for that client alone.

// sentValue says which value a packet carried.
type sentValue struct {
	version  uint64
	kind     uint16 // or ofTheGame
	variable uint16
	id       uint8
	size     uint16 // of the value, in bytes; set when it is in a packet
}

// ofTheGame stands for a kind with variables that belong to no entity.
const ofTheGame = maxKinds

// cargo is what a packet carried, for all connections to which it is under way.
type cargo struct {
	values []sentValue
	refs   int
	sends  uint64 // to how many connections it went
}

// frame is what views lack that are together, with one base and one shape, at one version of
// the Store.
type frame struct {
	shape, base, version uint64
	packets              []framePacket
	bytes                int // of all of them
	most                 int // in one of them
}

// framePacket is a packet but for its number and its time.
type framePacket struct {
	data  *lend.Shared
	cargo *cargo
}

func (p *framePacket) release(b *reliable.Pool, l *cargos) {
	b.Release(p.data)
	l.give(p.cargo)
}

// address writes the number and the time of this connection into a packet that all share.
func (e *Endpoint) address(b []byte, number uint64) {
	binary.LittleEndian.PutUint16(b[sequenceAt:], uint16(number))
	binary.LittleEndian.PutUint64(b[timeAt:], e.ServerTime(e.now))
}

// frames are the newest ones of a server. Clients whose views are each of their own kind
// make a frame each, which the next of them takes over.
type frames struct {
	kept [maxFrames]frame
	next int
}

// of returns what a view that is together lacks, which counts until the next call.
func (l *frames) of(v *view, m *Mux) *frame {
	for i := range l.kept {
		if f := &l.kept[i]; f.version == m.store.version && f.base == v.base && f.shape == v.shape && f.most == v.most {
			return f
		}
	}
	f := &l.kept[l.next]
	l.next = (l.next + 1) % len(l.kept)
	f.write(v, m)
	return f
}

// hasRoom reports whether so many bytes fit into a datagram with one of the packets, if there are any.
func (f *frame) hasRoom(beside int) bool {
	for i := range f.packets {
		if len(f.packets[i].data.Bytes())+beside <= f.most {
			return true
		}
	}
	return beside == 0 || len(f.packets) == 0
}

// write makes the frame that of a view.
func (f *frame) write(v *view, m *Mux) {
	s, b, d := &m.store, &m.shared.buffers, &m.draft
	f.shape, f.base, f.version, f.bytes, f.most = v.shape, v.base, s.version, 0, v.most
	for i := range f.packets {
		f.packets[i].release(b, &s.cargos)
	}
	f.packets = f.packets[:0]
	d.collectNewer(v, s)
	d.rank()
	for rest := d.ranked; len(rest) > 0; {
		p, n := d.write(b, &s.cargos, rest, f.most)
		f.packets = append(f.packets, p)
		f.bytes += len(p.data.Bytes())
		rest = rest[n:]
	}
}

// draft is where packets are made up: scratch of a server.
type draft struct {
	pool   []value
	ranked []uint64 // of the pool: where a value stands in a packet, and its index
	urgent []uint64 // of a view's slots: how little urgent they are, and their place in its order
	rest   bool     // what is added comes after what was added before
	buf    [maxPacketBytes]byte
}

// value is one that is to be sent.
type value struct {
	sentValue
	rest bool // it comes after those that are not
	data []byte
}

func (d *draft) add(x sentValue, data []byte) { d.pool = append(d.pool, value{x, d.rest, data}) }

// collectNewer finds what a view that is together lacks.
func (d *draft) collectNewer(v *view, s *Store) {
	d.pool, d.rest = d.pool[:0], false
	for i := range s.variables {
		if x := &s.variables[i]; x.version > v.base {
			d.add(sentValue{x.version, ofTheGame, uint16(i), 0, 0}, x.data)
		}
	}
	for _, at := range v.order {
		e := at.entity
		if e.version <= v.base {
			continue
		}
		for i, version := range e.versions {
			if version > v.base {
				d.add(sentValue{version, at.kind, uint16(i), at.id, 0}, e.data[i])
			}
		}
	}
}

// maxPool bounds what one call of Replicate looks at: an index has so many bits in a rank.
const (
	poolBits = 23
	maxPool  = 1<<poolBits - maxKindVariables
)

// rank sorts what was collected so that links are written once, and entities come first:
//
//	rest 1 bit | kind, or after all of them ofTheGame, 16 | variable 16 | id 8 | index in the pool 23
func (d *draft) rank() {
	d.ranked = d.ranked[:0]
	for i := range d.pool {
		x := &d.pool[i]
		r := (uint64(x.kind)<<24|uint64(x.variable)<<8|uint64(x.id))<<poolBits | uint64(i)
		if x.rest || x.kind == ofTheGame {
			r |= 1 << 63
		}
		d.ranked = append(d.ranked, r)
	}
	slices.Sort(d.ranked)
}

// write fills one packet and returns how many values it took.
func (d *draft) write(b *reliable.Pool, l *cargos, ranked []uint64, size int) (p framePacket, n int) {
	var w ReplicateWriter
	w.Start(d.buf[:0], &Packet{Kind: KindReplicate, Reliable: true}, size)
	for n < len(ranked) {
		x := &d.pool[ranked[n]&(1<<poolBits-1)]
		if x.kind == ofTheGame && !w.Variable(x.variable, x.data) || x.kind != ofTheGame && !w.Add(x.kind, x.variable, x.id, x.data) {
			break
		}
		n++
	}
	p.cargo = l.take(n)
	for _, r := range ranked[:n] {
		x := &d.pool[r&(1<<poolBits-1)]
		x.size = uint16(len(x.data))
		p.cargo.values = append(p.cargo.values, x.sentValue)
	}
	p.data = b.Share(w.Bytes())
	return p, n
}

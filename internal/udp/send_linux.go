package udp

import (
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"parley/internal/datagram"
)

// sendControlBytes is the control message that carries the segment size.
var sendControlBytes = unix.CmsgSpace(2)

// writer is the state of a write, owned by the goroutine that writes, and the
// vectors that the kernel reads.
type writer struct {
	msgs    []unix.Mmsghdr
	iovs    []unix.Iovec
	names   []sockaddr
	control []byte
	groups  []sendGroup

	out         *datagram.SendBatch
	entries     []datagram.SendEntry // of out
	sum         datagram.Tally       // of msgs[:built]
	at          int                  // first entry that is not in msgs yet
	built, done int                  // msgs[done:built] wait to be sent
	single      int                  // entries before this one are not joined
	patience    patience
	retried     bool // the next message was refused once and is tried again
	suspect     bool // GSO is to be limited to suspectMax if the next message succeeds
	suspectMax  int
	onWritable  func(fd uintptr) bool
}

// sendGroup says what a message carries: count entries from first on.
type sendGroup struct{ first, count, bytes int }

// patience is what a write does when the kernel's buffer is full, in this order.
type patience uint8

const (
	patienceRetry patience = iota // try again at once
	patienceArm                   // set a deadline and wait for room
	patienceWait                  // wait for room until that deadline
	patienceLast                  // the wait brought no room and this was the last try: give up
)

func (w *writer) init(d *batched, n int) {
	w.msgs = make([]unix.Mmsghdr, n)
	w.iovs = make([]unix.Iovec, n)
	w.names = make([]sockaddr, n)
	w.control = make([]byte, n*sendControlBytes)
	w.groups = make([]sendGroup, n)
	w.onWritable = d.writable
	for i := range w.msgs {
		h := &w.msgs[i].Hdr
		h.Iov = &w.iovs[i]
		h.SetIovlen(1)
		if !d.remote.IsValid() {
			h.Name = (*byte)(unsafe.Pointer(&w.names[i]))
		}
		c := (*unix.Cmsghdr)(unsafe.Pointer(&w.control[i*sendControlBytes]))
		c.Level, c.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
		c.SetLen(unix.CmsgLen(2))
	}
}

func (d *batched) write(out *datagram.SendBatch) error {
	d.writer.begin(out)
	return d.finish()
}

// writeInTurn sends through the descriptor that the turn's read holds open,
// which spares it the locks of another RawConn call.
func (d *batched) writeInTurn(out *datagram.SendBatch) error {
	d.writer.begin(out)
	if d.writable(d.reader.fd) {
		return nil
	}
	return d.finish()
}

func (w *writer) begin(out *datagram.SendBatch) {
	w.out, w.entries = out, out.Entries()
	w.at, w.built, w.done, w.single = 0, 0, 0, 0
	w.patience, w.retried, w.suspect = patienceRetry, false, false
}

// finish sends the rest of the batch and waits for room where it must.
func (d *batched) finish() error {
	w := &d.writer
	for {
		err := d.raw.Write(w.onWritable)
		if w.patience >= patienceWait {
			_ = d.file.SetWriteDeadline(time.Time{})
		}
		switch {
		case err == nil:
			return nil
		case d.closed.Load():
			d.counts.lost(datagram.FaultOther, w.unsent())
			return ErrClosed
		case !errors.Is(err, os.ErrDeadlineExceeded):
			d.counts.lost(faultOf(err), w.unsent())
			return nil
		}
		w.patience = patienceLast
	}
}

// unsent returns how many datagrams of the batch are neither sent nor lost yet.
func (w *writer) unsent() int {
	n := 0
	for i := range w.entries[w.at:] {
		if w.entries[w.at+i].N >= 0 {
			n++
		}
	}
	for _, g := range w.groups[w.done:w.built] {
		n += g.count
	}
	return n
}

// writable sends until all is sent, or returns false when the kernel's buffer is full.
func (d *batched) writable(fd uintptr) bool {
	w := &d.writer
	for {
		if w.done == w.built {
			if w.at == len(w.entries) {
				return true
			}
			d.build()
			continue
		}
		n, errno := d.kernel.sendmmsg(fd, w.msgs[w.done:w.built])
		if errno == 0 {
			d.took(n)
			continue
		}
		if errno == unix.EAGAIN {
			switch d.full() {
			case datagram.Wait:
				return false
			case datagram.Stop:
				return true
			}
			continue
		}
		d.refused(errno)
	}
}

// build fills msgs from the entries at w.at on. Neighbouring entries of the same address
// and size share a message.
func (d *batched) build() {
	w := &d.writer
	entries, arena := w.entries, w.out.Arena
	gsoMax := int(d.gsoMax.Load())
	w.done, w.built = 0, 0
	w.sum = datagram.Tally{}
	for w.at < len(entries) && w.built < len(w.msgs) && w.sum.Datagrams < maxCallDatagrams {
		first := w.at
		e := &entries[first]
		h, iov := &w.msgs[w.built].Hdr, &w.iovs[w.built]
		if e.N < 0 || !d.address(h, &w.names[w.built], e) {
			if e.N >= 0 {
				d.counts.lost(datagram.FaultBadAddress, 1)
				e.N = -1 // it is counted; ungroup may bring us here again
			}
			w.at++
			continue
		}
		bytes := e.N
		w.at++
		if e.N > 0 && e.N <= gsoMax && first >= w.single {
			bytes = w.join(e)
		}
		count := w.at - first
		if count > 1 {
			w.sum.Joined += uint64(count)
			at := w.built * sendControlBytes
			h.Control = &w.control[at]
			h.SetControllen(sendControlBytes)
			*(*uint16)(unsafe.Pointer(&w.control[at+unix.SizeofCmsghdr])) = uint16(e.N)
		} else {
			h.Control = nil
			h.SetControllen(0)
		}
		iov.Base = &arena[e.Off] // below the end: Free lends no less than a byte
		iov.SetLen(bytes)
		w.groups[w.built] = sendGroup{first, count, bytes}
		w.sum.Datagrams += uint64(count)
		w.sum.Bytes += uint64(bytes)
		w.built++
	}
}

// address names the receiver of e in h.
func (d *batched) address(h *unix.Msghdr, name *sockaddr, e *datagram.SendEntry) bool {
	if h.Name == nil {
		return e.To == d.remote || Canonical(e.To) == d.remote
	}
	h.Namelen = name.encode(d.family, e.To)
	return h.Namelen != 0
}

// join moves w.at past the entries that can share a message with e, the entry before
// w.at, and returns the bytes of all. They lie one after the other in the arena, so one
// vector covers them.
func (w *writer) join(e *datagram.SendEntry) (bytes int) {
	bytes = e.N
	first := w.at - 1
	for w.at < len(w.entries) && w.at-first < maxGSOSegments {
		x := &w.entries[w.at]
		if x.N <= 0 || x.N > e.N || bytes+x.N > MaxPayload || x.To != e.To {
			break
		}
		bytes += x.N
		w.at++
		if x.N < e.N {
			break // only the last may be shorter
		}
	}
	return bytes
}

// took records that the kernel took the next n messages.
func (d *batched) took(n int) {
	w := &d.writer
	t := w.sum
	if n != w.built {
		t = datagram.Tally{}
		for _, g := range w.groups[w.done : w.done+n] {
			t.Datagrams += uint64(g.count)
			t.Bytes += uint64(g.bytes)
			if g.count > 1 {
				t.Joined += uint64(g.count)
			}
		}
	}
	w.done += n
	w.retried = false
	if w.patience == patienceArm {
		w.patience = patienceRetry
	}
	if w.suspect {
		w.suspect = false
		d.gsoMax.Store(min(d.gsoMax.Load(), int32(w.suspectMax)))
	}
	d.counts.sent(&t)
}

// full decides what to do about a full send buffer: nextTurn to try again at once,
// nextWait to wait for room, nextStop when the rest is given up.
func (d *batched) full() datagram.Next {
	w := &d.writer
	d.counts.outWaits.Add(1)
	switch w.patience {
	case patienceRetry:
		w.patience = patienceArm
		return datagram.Again
	case patienceArm:
		w.patience = patienceWait
		_ = d.file.SetWriteDeadline(time.Now().Add(writeWait))
	case patienceLast:
		d.counts.lost(datagram.FaultWouldBlock, w.unsent())
		return datagram.Stop
	}
	return datagram.Wait
}

// refused decides what becomes of the next message, which the kernel refused.
func (d *batched) refused(errno syscall.Errno) {
	w := &d.writer
	g := &w.groups[w.done]
	fault := faultOfErrno(errno)
	if g.count > 1 && d.ungroup(g, errno) {
		return
	}
	switch {
	case fault == datagram.FaultInterrupted:
		d.counts.outFaults[fault].Add(1)
		return
	case fault == datagram.FaultRefused && !w.retried:
		// The error is about an earlier datagram. It is cleared now, and this datagram
		// has not been tried.
		w.retried = true
		d.counts.outFaults[fault].Add(1)
		return
	case fault == datagram.FaultBadAddress || fault == datagram.FaultOther:
		zones.forget() // the interface of a link-local peer may be gone
	}
	d.counts.lost(fault, g.count)
	w.retried, w.suspect = false, false
	w.done++
}

// ungroup takes a joined message apart when the kernel may have refused it because it is
// joined, and reports whether it did. If the first of its datagrams then goes out alone,
// joining was the cause. A segment that exceeds the route's MTU then lowers the limit,
// and an error of the system switches GSO off for good. If it does not go out, the
// address was the cause: a peer with a bad address must not be able to switch anything
// off.
func (d *batched) ungroup(g *sendGroup, errno syscall.Errno) bool {
	w := &d.writer
	limit := 0
	switch errno {
	case unix.EINVAL, unix.EMSGSIZE:
		if limit = w.entries[g.first].N - 1; limit < minGSOSegment {
			limit = 0
		}
	case unix.EIO, unix.ENOPROTOOPT, unix.EOPNOTSUPP:
	default:
		return false
	}
	w.suspect, w.suspectMax = true, limit
	d.counts.outFaults[faultOfErrno(errno)].Add(1)
	w.single = g.first + g.count
	w.at = g.first
	w.built, w.done = 0, 0
	return true
}

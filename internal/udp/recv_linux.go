package udp

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"parley/internal/datagram"
	"parley/internal/gather"
)

// recvControlBytes is room for the control message that we ask for: the segment size.
const recvControlBytes = 24

// slotPadding keeps the starts of neighbouring buffers apart in the cache: at
// a stride of exactly 64 KiB all of them would fall into the same few lines.
const slotPadding = 3 * 64

// spinAfter is the batch size from which the reader reads once more before it parks. After a
// batch of that size, more has probably come while it was handled. A read (0.5 µs if there is
// nothing) is cheaper than parking (5 µs and more).
const spinAfter = 2

// recvVectors is a RecvBatch as the kernel sees it.
type recvVectors struct {
	msgs    []unix.Mmsghdr
	iovs    []unix.Iovec
	names   []sockaddr
	control []byte
	buffers []byte
	stride  int
	dirty   int // messages whose sizes the last call overwrote
}

func (d *batched) newRecvBatch() *RecvBatch {
	n, size := d.config.Batch, d.config.MaxDatagram
	if d.gro {
		size = groBufferBytes
	}
	stride := (size+63)&^63 + slotPadding
	b := &RecvBatch{
		RecvBatch: datagram.NewRecvBatch(n, d.config.MaxDatagram),
		vectors: recvVectors{
			msgs:    make([]unix.Mmsghdr, n),
			iovs:    make([]unix.Iovec, n),
			names:   make([]sockaddr, n),
			control: make([]byte, n*recvControlBytes),
			buffers: make([]byte, n*stride),
			stride:  stride,
			dirty:   n,
		},
	}
	v := &b.vectors
	for i := range v.msgs {
		v.iovs[i].Base = &v.buffers[i*stride]
		v.iovs[i].SetLen(size)
		h := &v.msgs[i].Hdr
		h.Iov = &v.iovs[i]
		h.SetIovlen(1)
		h.Control = &v.control[i*recvControlBytes]
		if !d.remote.IsValid() {
			h.Name = (*byte)(unsafe.Pointer(&v.names[i]))
		}
	}
	return b
}

// rearm restores the sizes that the kernel overwrote.
func (v *recvVectors) rearm() {
	for i := range v.msgs[:v.dirty] {
		h := &v.msgs[i].Hdr
		h.Namelen = unix.SizeofSockaddrInet6
		h.SetControllen(recvControlBytes)
	}
	v.dirty = 0
}

// reader is the state of a call of serve, owned by the goroutine that reads.
type reader struct {
	fd         uintptr // valid during a turn
	in         *RecvBatch
	turn       datagram.Turn
	until      time.Time
	due        bool // a turn is due even without a datagram
	spinAfter  int
	gather     gather.Gatherer
	strange    int // unknown errors in a row
	failure    error
	onReadable func(fd uintptr) bool
}

// serve runs the turns inside one RawConn.Read. The poller's readiness is reset only when a
// Read begins, so within one Read it is never lost. A batch that is not full then needs no
// second read before parking, which saves a useless system call for every sleep.
func (d *batched) serve(in *RecvBatch, turn datagram.Turn) error {
	r := &d.reader
	r.in, r.turn, r.due, r.failure = in, turn, true, nil
	for {
		err := d.raw.Read(r.onReadable)
		switch {
		case err == nil:
			return r.failure
		case d.closed.Load():
			return ErrClosed
		case !errors.Is(err, os.ErrDeadlineExceeded) && d.strange(datagram.FaultOther, err):
			return r.failure
		}
		d.park.disarm()
		r.due = true
	}
}

// readable is called when serve begins and whenever the poller reports the socket readable.
// It returns false to park.
func (d *batched) readable(fd uintptr) bool {
	r := &d.reader
	r.fd = fd
	woken := d.park.leave()
	gathers := !woken && !r.due && r.gather.Due(time.Now())
	for {
		if gathers {
			d.counts.inGathers.Add(1)
			gather.Pause(r.gather.Span)
		}
		got, more := d.receive(fd, r.in)
		if r.failure != nil {
			return true
		}
		gathers = gathers && r.gather.Brought(r.in.Len(), got)
		woken = d.park.leave() || woken
		if got > 0 || more || woken || r.due {
			r.due = false
			var what datagram.Next
			what, r.until = r.turn(&r.in.RecvBatch, woken)
			woken = false
			switch {
			case what == datagram.Stop:
				return true
			case what == datagram.Again:
				r.due, gathers = true, false
				continue
			case more || got >= r.spinAfter:
				gathers = gathers && !more
				continue
			}
		}
		if d.park.enter(r.until) {
			return false
		}
	}
}

// receive fills in with the datagrams that have come, without waiting. It returns how many
// messages the kernel gave, and whether the socket may hold more. If so, the reader must not
// park, as the poller reports only new arrivals. That is the case after a full batch, and
// after a run of errors. A run is cut short, so that endless errors do not keep timers and
// commands waiting.
func (d *batched) receive(fd uintptr, in *RecvBatch) (got int, more bool) {
	in.Clear()
	in.vectors.rearm()
	for range maxStrangeErrors {
		n, errno := d.kernel.recvmmsg(fd, in.vectors.msgs)
		if errno == 0 {
			d.reader.strange = 0
			d.collect(in, n)
			return n, n == len(in.vectors.msgs)
		}
		if errno == unix.EAGAIN {
			return 0, false
		}
		fault := faultOfErrno(errno)
		d.counts.inFaults[fault].Add(1)
		if (fault == datagram.FaultOther || fault == datagram.FaultBadAddress) && d.strange(fault, errno) {
			return 0, false
		}
	}
	return 0, true
}

// strange counts an error that should not occur, and reports whether such errors were too
// many in a row to go on.
func (d *batched) strange(f datagram.Fault, err error) bool {
	r := &d.reader
	if r.strange++; r.strange < maxStrangeErrors {
		return false
	}
	r.failure = fmt.Errorf("udp: read: %s, %d times in a row: %w", f, r.strange, err)
	return true
}

// collect turns the first n messages into entries.
func (d *batched) collect(in *RecvBatch, n int) {
	v := &in.vectors
	v.dirty = n
	from := d.remote
	for i := range v.msgs[:n] {
		m := &v.msgs[i]
		if m.Hdr.Flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
			in.Tally.Truncated++
			continue
		}
		if m.Hdr.Name != nil {
			from = v.names[i].decode()
		}
		at := i * recvControlBytes
		segment := readSegment(v.control[at : at+int(m.Hdr.Controllen)])
		at = i * v.stride
		in.Add(from, v.buffers[at:at+int(m.Len)], segment)
	}
	d.counts.received(&in.Tally)
}

// readSegment finds the segment size in the control messages of a datagram.
func readSegment(b []byte) (segment int) {
	const head = unix.SizeofCmsghdr
	for len(b) > head {
		h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(b)))
		size := int(h.Len)
		if size <= head || size > len(b) {
			break
		}
		if data := b[head:size]; len(data) >= 4 && h.Level == unix.IPPROTO_UDP && h.Type == unix.UDP_GRO {
			segment = int(*(*int32)(unsafe.Pointer(&data[0])))
		}
		b = b[min(len(b), unix.CmsgSpace(size-head)):]
	}
	return segment
}

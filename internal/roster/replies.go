package roster

import (
	"net/netip"

	"parley/internal/queue"
)

// MaxReply is the size of the largest reply.
const MaxReply = 64

// Replies are the answers to addresses without a connection that wait for the socket,
// oldest first. The zero value is empty.
type Replies struct {
	list queue.Fifo[reply]
}

type reply struct {
	to   netip.AddrPort
	n    uint8
	data [MaxReply]byte
}

// Len returns the number of answers. The caller checks it before Put: there is no bound
// here.
func (r *Replies) Len() int { return r.list.Len() }

// Put queues an answer, of at most MaxReply bytes.
func (r *Replies) Put(to netip.AddrPort, b []byte) {
	if len(b) > MaxReply {
		panic("roster: a reply is too long")
	}
	a := reply{to: to, n: uint8(len(b))}
	copy(a.data[:], b)
	r.list.Push(a)
}

// MoveTo copies the oldest answer into buf, removes it and returns its address.
func (r *Replies) MoveTo(buf []byte) (n int, to netip.AddrPort, ok bool) {
	if r.list.Len() == 0 {
		return 0, to, false
	}
	a := r.list.First()
	n, to = copy(buf, a.data[:a.n]), a.to
	r.list.Pop()
	r.list.Trim()
	return n, to, true
}

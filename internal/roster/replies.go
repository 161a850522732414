package roster

import (
	"net/netip"

	"parley/internal/queue"
)

const (
	// MaxReply is the size of the largest reply.
	MaxReply = 64

	// MaxReplies bounds the answers that wait for the socket, 100 KiB in all. Each is to a datagram of this turn, so
	// more wait only while the socket is behind. Further ones are dropped: a peer that got no answer asks again.
	MaxReplies = 1024
)

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

// Len returns the number of answers.
func (r *Replies) Len() int { return r.list.Len() }

// Put queues an answer, of at most MaxReply bytes, and reports whether there was room for it.
func (r *Replies) Put(to netip.AddrPort, b []byte) bool {
	if len(b) > MaxReply {
		panic("roster: a reply is too long")
	}
	if r.list.Len() >= MaxReplies {
		return false
	}
	a := reply{to: to, n: uint8(len(b))}
	copy(a.data[:], b)
	r.list.Push(a)
	return true
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

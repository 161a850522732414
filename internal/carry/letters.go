package carry

import "encoding/binary"

// letters is a queue of datagrams in one piece of memory, oldest first. The zero value is empty. It has no bound of its own.
type letters struct {
	b    []byte // each with its size, 2 bytes, before it
	head int    // where the oldest begins
	n    int
}

const letterHead = 2

func (q *letters) len() int { return q.n }

// held returns the bytes of all, sizes included.
func (q *letters) held() int { return len(q.b) - q.head }

func (q *letters) put(p []byte) {
	if q.head > 0 && len(q.b)+letterHead+len(p) > cap(q.b) {
		q.b, q.head = q.b[:copy(q.b, q.b[q.head:])], 0
	}
	q.b = binary.LittleEndian.AppendUint16(q.b, uint16(len(p)))
	q.b = append(q.b, p...)
	q.n++
}

// first returns the oldest, which must exist. It is valid until the next put or drop.
func (q *letters) first() []byte {
	at := q.head + letterHead
	return q.b[at : at+int(binary.LittleEndian.Uint16(q.b[q.head:]))]
}

// drop removes the oldest, which must exist.
func (q *letters) drop() {
	q.head += letterHead + len(q.first())
	if q.n--; q.n == 0 {
		q.empty()
	}
}

// empty removes all, and lets go of memory that a burst has taken.
func (q *letters) empty() {
	q.head, q.n = 0, 0
	if q.b = q.b[:0]; cap(q.b) > keptRoom {
		q.b = nil
	}
}

package core

import (
	"parley/internal/lend"
	"parley/internal/queue"
)

// Shared is what the endpoints of one loop share. Its zero value is usable.
type Shared struct {
	buffers lend.Buffers
	frames  lend.Spares[*frame]
	message Message // of the latest event: one for all endpoints, as events are polled one at a time
}

// frame is an encoded message that may wait in many queues at once: a broadcast is encoded
// once. It counts its holders; when there are none, it is used again.
type frame struct {
	b    []byte
	kind Kind
	refs int32
}

// frame returns a message encoded, held by the caller.
func (s *Shared) frame(c *Codec, m *Message) *frame {
	f := s.empty(m.Kind, m.size())
	f.b = c.AppendTo(f.b, m)
	return f
}

// empty returns a frame with room for about so many bytes, held by the caller.
func (s *Shared) empty(kind Kind, size int) *frame {
	f, ok := s.frames.Take()
	if !ok {
		f = new(frame)
	}
	f.b, f.kind, f.refs = s.buffers.Take(size)[:0], kind, 1
	return f
}

// release lets go of a frame.
func (s *Shared) release(f *frame) {
	if f.refs--; f.refs > 0 {
		return
	}
	if f.refs < 0 {
		panic("realm: a frame was let go twice")
	}
	s.buffers.Give(f.b)
	f.b = nil
	if s.frames.Len() < maxKeptFrames {
		s.frames.Give(f)
	}
}

// fit gives a frame a buffer of about its own size. Those that are lent have up to 16 times as many bytes as a message
// that is a little longer than the next smaller ones: of a queue that is full of such, the bound in bytes would be none on memory.
func (s *Shared) fit(f *frame) {
	if cap(f.b) <= len(f.b)+len(f.b)/4+frameOverhead {
		return
	}
	own := append(make([]byte, 0, len(f.b)), f.b...)
	s.buffers.Give(f.b)
	f.b = own
}

// size returns about how many bytes a message has, so that its buffer need not grow.
func (m *Message) size() int {
	return 64 + len(m.Name) + len(m.Password) + len(m.Text) + len(m.Entities.raw) + len(m.Actions.raw) + len(m.Chunks.raw) +
		len(m.Chunk.Cells.raw) + len(m.Entity.Attributes.raw) + len(m.Action.Params.raw) + len(m.Wanted.raw) + len(m.Extension.raw)
}

// outbox is what is to be written to the peer. Its zero value is empty.
type outbox struct {
	list       queue.Fifo[*frame]
	read       int // bytes of the first that are written
	held       int // bytes of all, with what each holds beside
	coalesceAt int
}

// put queues a frame, which the outbox holds from now on too.
func (o *outbox) put(f *frame) {
	f.refs++
	o.list.Push(f)
	o.held += len(f.b) + frameOverhead
}

// moveTo copies the oldest bytes into buf and says how many.
func (o *outbox) moveTo(buf []byte, s *Shared) (n int) {
	for n < len(buf) && o.list.Len() > 0 {
		f := *o.list.First()
		k := copy(buf[n:], f.b[o.read:])
		n += k
		if o.read += k; o.read == len(f.b) {
			o.drop(s)
		}
	}
	o.list.Trim()
	return n
}

// drop lets go of the oldest frame.
func (o *outbox) drop(s *Shared) {
	f := o.list.Pop()
	o.read = 0
	o.held -= len(f.b) + frameOverhead
	s.release(f)
}

// clear lets all go that the peer has not begun to read: a message of which some bytes are
// written must end.
func (o *outbox) clear(s *Shared) {
	var begun *frame
	if o.read > 0 {
		begun = o.list.Pop()
	}
	for o.list.Len() > 0 {
		f := o.list.Pop()
		o.held -= len(f.b) + frameOverhead
		s.release(f)
	}
	if begun != nil {
		o.list.Push(begun)
	}
	o.list.Trim()
}

// close lets all go.
func (o *outbox) close(s *Shared) {
	o.read = 0
	o.clear(s)
}

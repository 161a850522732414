package reliable

// Shared holds the bytes of a packet that several senders send. They are kept once, and
// given back when the last user has released them. The caller of Share is the first user,
// and calls Release after it has given the packet to all senders. A Shared belongs to one
// goroutine, as its Buffers do.
type Shared struct {
	data  []byte
	users int
}

// Share returns a copy of p that several senders may be given (Options.Shared).
func (b *Buffers) Share(p []byte) *Shared {
	s := b.takeShared()
	s.data, s.users = b.copyOf(p), 1
	return s
}

// Bytes returns the shared bytes. They must not be changed.
func (s *Shared) Bytes() []byte { return s.data }

// Retain adds a user.
func (s *Shared) Retain() { s.users++ }

// Release removes a user. With the last one, the bytes are given back.
func (b *Buffers) Release(s *Shared) {
	if s.users <= 0 {
		panic("reliable: Release of what nobody uses")
	}
	if s.users--; s.users > 0 {
		return
	}
	b.Give(s.data)
	s.data = nil
	if len(b.shared.list) < maxKeptShared {
		b.shared.give(s)
	}
}

func (b *Buffers) takeShared() *Shared {
	s, ok := b.shared.take()
	if !ok {
		s = new(Shared)
	}
	return s
}

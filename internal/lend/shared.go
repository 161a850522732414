package lend

// maxKeptShared bounds the Shared structs that are kept for later use.
const maxKeptShared = 4096

// Shared holds the bytes of a packet that several queues hold. They are kept once, and
// given back when the last user has released them. The caller of Share is the first user,
// and calls Release after it has given the packet to all queues. A Shared belongs to one
// goroutine, as its Buffers do.
type Shared struct {
	data  []byte
	users int
}

// Share returns a shared copy of p.
func (b *Buffers) Share(p []byte) *Shared {
	s, ok := b.shared.Take()
	if !ok {
		s = new(Shared)
	}
	s.data, s.users = b.Copy(p), 1
	return s
}

// Bytes returns the shared bytes. They must not be changed.
func (s *Shared) Bytes() []byte { return s.data }

// Retain adds a user.
func (s *Shared) Retain() { s.users++ }

// Release removes a user. With the last one, the bytes are given back.
func (b *Buffers) Release(s *Shared) {
	if s.users <= 0 {
		panic("lend: Release of what nobody uses")
	}
	if s.users--; s.users > 0 {
		return
	}
	b.Give(s.data)
	s.data = nil
	if b.shared.Len() < maxKeptShared {
		b.shared.Give(s)
	}
}

package reliable

// Shared is a packet's bytes that several senders send: kept once, and given back when
// the last of them has let go. Who made it is its first user, and lets go with Release
// once it has given it to all. It belongs to one goroutine, as the Buffers that it is
// from.
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

// Bytes returns what is shared. It is not changed.
func (s *Shared) Bytes() []byte { return s.data }

// Retain notes one more user.
func (s *Shared) Retain() { s.users++ }

// Release lets go of it: with the last user its bytes go back.
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

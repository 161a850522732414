package core

import (
	"fmt"

	"parley/internal/lend"
	"parley/internal/wire"
)

// Stream cuts bytes into messages. The messages and the error do not depend on how the bytes
// arrive.
//
// It holds the received part of at most one message. A message that arrives whole is not
// copied.
type Stream struct {
	codec  *Codec
	from   Side
	lender *lend.Buffers

	walk   walk
	held   []byte // the beginning of a message whose end has not come
	spent  bool   // held was a whole message, which the caller has seen by now
	offset int64  // of the message that is being read
	err    error
}

// StreamError is the error of a stream, with its place.
type StreamError struct {
	Offset int64 // the offset of the wrong field in the stream
	Type   Kind  // the kind of the message; unset if its type byte is wrong
	Field  error // names the wrong field, and its offset in the message
}

// Error returns the fault, with its offset in the stream.
func (e *StreamError) Error() string {
	return fmt.Sprintf("realm: byte %d of the stream: %v: %v", e.Offset, e.Type, e.Field)
}

// Unwrap returns the error of the field, whose offset counts from the message's start.
func (e *StreamError) Unwrap() error { return e.Field }

// NewStream returns a stream of the bytes that the side from sends.
func NewStream(c *Codec, from Side) *Stream {
	s := new(Stream)
	s.init(c, from, new(lend.Buffers))
	return s
}

func (s *Stream) init(c *Codec, from Side, lender *lend.Buffers) {
	*s = Stream{codec: c, from: from, lender: lender, walk: walk{limit: MaxMessage}}
}

// limit sets how many bytes a message may have from now on, the one that is being read
// included.
func (s *Stream) limit(bytes int) { s.walk.limit = bytes }

// Err returns the error that ended the stream, as a *StreamError, or nil while it goes on.
func (s *Stream) Err() error { return s.err }

// Held returns how many bytes wait for the rest of their message.
func (s *Stream) Held() int {
	if s.spent {
		return 0
	}
	return len(s.held)
}

// Next takes bytes from b, returns how many, and reports whether they complete a message.
// Call it again with the remaining bytes until there are none. All fields of m but numbers
// share the memory of b or of the stream, and are valid until the next call. After an error,
// Next takes nothing.
func (s *Stream) Next(b []byte, m *Message) (n int, ok bool) {
	if s.spent {
		s.drop()
	}
	if s.err != nil || len(b) == 0 {
		return 0, false
	}
	before := len(s.held)
	p := b
	if before > 0 {
		s.hold(b)
		p = s.held
	}
	r := wire.Big(p)
	s.codec.walk(&s.walk, s.from, &r)
	switch {
	case r.OK():
		total := s.walk.at
		s.codec.fill(m, p[:total:total])
		s.offset += int64(total)
		s.walk = walk{limit: s.walk.limit}
		s.spent = before > 0
		return total - before, true
	case r.Cause() != wire.CauseShort:
		s.fail(r.Err())
		return 0, false
	case before == 0:
		s.hold(b)
	}
	return len(b), false
}

// hold keeps bytes behind those that are held.
func (s *Stream) hold(b []byte) {
	if need := len(s.held) + len(b); need > cap(s.held) {
		// Twice as much as is there, so that a long message that comes in small pieces is not
		// copied again for each.
		grown := s.lender.Take(max(need, min(2*len(s.held), MaxMessage)))
		n := copy(grown, s.held)
		s.lender.Give(s.held)
		s.held = grown[:n]
	}
	s.held = append(s.held, b...)
}

// drop lets go of what is held.
func (s *Stream) drop() {
	s.lender.Give(s.held)
	s.held, s.spent = nil, false
}

func (s *Stream) fail(err error) {
	field := err.(*wire.Error) // a reader has no other
	s.err = &StreamError{Offset: s.offset + int64(field.Offset), Type: s.walk.kind, Field: field}
	s.drop()
}

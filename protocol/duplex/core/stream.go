package core

import (
	"encoding/binary"
	"fmt"

	"parley/internal/lend"
)

// Stream cuts the bytes of main into messages: "TCP has no message boundaries and the
// document gives no length field", so it uses the Schema. The messages and the error do
// not depend on how the bytes arrive.
//
// It holds the received part of at most one message, of at most MaxMessage bytes.
type Stream struct {
	rules  *rules
	from   Side
	lender *lend.Buffers

	held  []byte // the beginning of a message whose end has not come
	spent bool   // held was a whole message, which the caller has seen by now

	head  int // bytes before the data, 0 while not known
	size  Size
	frame frame

	offset int64 // of the message that is being read
	err    error
}

// NewStream returns a stream of the bytes that the side from sends. It compiles s once.
func NewStream(s *Schema, from Side) *Stream {
	return &Stream{rules: s.compile(), from: from, lender: new(lend.Buffers)}
}

// Err returns the error that ended the stream, or nil while it goes on. It wraps ErrCode,
// ErrSID or ErrSize.
func (s *Stream) Err() error { return s.err }

// Held returns how many bytes wait for the rest of their message.
func (s *Stream) Held() int {
	if s.spent {
		return 0
	}
	return len(s.held)
}

// Next takes bytes from b, returns how many, and reports whether they complete a message.
// Call it again with the remaining bytes until there are none. m.Data shares the memory of b
// or of the stream, and is valid until the next call. After an error, Next takes nothing.
func (s *Stream) Next(b []byte, m *Message) (n int, ok bool) {
	if s.spent {
		s.drop()
	}
	for s.err == nil && n < len(b) {
		p := b[n:]
		if len(s.held) > 0 {
			p = s.held
		}
		total, state := s.measure(p)
		switch {
		case state == frameBad:
			return n, false
		case state == frameWhole:
			n += s.finish(m, p[:total])
			return n, true
		}
		n += s.hold(b[n:], total)
	}
	if len(s.held) > 0 && s.err == nil {
		// The last byte that was taken may have been the last of a message.
		if total, state := s.measure(s.held); state == frameWhole {
			s.finish(m, s.held[:total])
			return n, true
		}
	}
	return n, false
}

// hold keeps as many of the bytes as the message is known to have, and says how many.
func (s *Stream) hold(b []byte, total int) int {
	take := min(total-len(s.held), len(b))
	if need := len(s.held) + take; need > cap(s.held) {
		grown := append(s.lender.Take(max(need, minHeldBytes))[:0], s.held...)
		s.lender.Give(s.held)
		s.held = grown
	}
	s.held = append(s.held, b[:take]...)
	return take
}

// finish reads a whole message, which p is, and says how many of its bytes were not held
// before.
func (s *Stream) finish(m *Message, p []byte) (fresh int) {
	if !m.Parse(s.from, Main, p) {
		panic("duplex: a message that was measured cannot be read") // measure has judged all that Parse does
	}
	s.offset += int64(len(p))
	s.head, s.size, s.frame = 0, Size{}, frame{}
	if len(s.held) == 0 {
		return len(p)
	}
	s.spent = true
	return 0
}

// drop lets go of a message that was seen.
func (s *Stream) drop() {
	s.lender.Give(s.held)
	s.held, s.spent = nil, false
}

// close lets go of what is held.
func (s *Stream) close() {
	s.drop()
	if s.err == nil {
		s.err = ErrClosed
	}
}

// measure finds how many bytes the message that p begins with has in all, or at least.
func (s *Stream) measure(p []byte) (total int, state frameState) {
	if s.head == 0 {
		if len(p) == 0 {
			return 1, frameShort
		}
		if short := s.begin(p); short > 0 || s.err != nil {
			return short, s.stateOf(frameShort)
		}
	}
	n, state := s.frame.measure(s.size, p[s.head:], MaxMessage-s.head)
	if state == frameBad {
		s.fail(ErrSize, p[0])
	}
	return s.head + n, state
}

func (s *Stream) stateOf(state frameState) frameState {
	if s.err != nil {
		return frameBad
	}
	return state
}

// begin reads what comes before the data. If that is not there, it returns how many bytes
// it is.
func (s *Stream) begin(p []byte) (short int) {
	code := p[0]
	kind := kinds[code]
	if kind == 0 || forms[kind].sides&s.from == 0 || forms[kind].channels&Main == 0 {
		s.fail(ErrCode, code)
		return 0
	}
	switch kind {
	case KindSync:
		if len(p) < 3 {
			return 3
		}
		size, err := s.rules.elements[s.from].size(int16(binary.BigEndian.Uint16(p[1:])))
		if err != nil {
			s.fail(err, code)
			return 0
		}
		s.head, s.size = 3, size
	case KindConnInitRep:
		s.head, s.size = 1, Fixed(6)
	case KindSignal:
		if s.rules.signals>>code&1 == 0 {
			s.fail(ErrCode, code)
			return 0
		}
		s.head = 1
	case KindQuery:
		q := &s.rules.queries[code-FirstQuery]
		if !q.known {
			s.fail(ErrCode, code)
			return 0
		}
		s.head, s.size = 1, q.Data
	case KindReply:
		q := &s.rules.queries[code-FirstQuery-ReplyOffset]
		if !q.known {
			s.fail(ErrCode, code)
			return 0
		}
		if len(p) < 2 {
			return 2
		}
		s.head, s.size = 2, q.reply(p[1])
	}
	return 0
}

func (s *Stream) fail(err error, code uint8) {
	s.err = fmt.Errorf("%w: code %d at byte %d of main", err, code, s.offset)
}

package duplex

import (
	"errors"
	"fmt"
)

// What a schema says of a message that is not in it.
var (
	// ErrCode: no message of the schema has this code, or not from this side, or not on
	// this channel.
	ErrCode = errors.New("duplex: the schema has no such code")
	// ErrSID: the schema gives no size for this SID.
	ErrSID = errors.New("duplex: the schema has no such SID")
	// ErrSize: the data is not of the size that the schema gives.
	ErrSize = errors.New("duplex: the data has not the size of the schema")
)

// Schema says how long data is, as nothing in a message does: "its size in bytes is
// unspecified and can depend on the relevant SID", and for queries and replies "is defined
// according to the specified CODE". Both ends of a connection must have the same one. The
// zero Schema knows the messages of the dialect itself and none of a game. It is not
// changed after use.
type Schema struct {
	// FromServer and FromClient are the elements: the data of updates and syncs, by who
	// sends them. What a client says of its own element need not look like what
	// the server says of it.
	FromServer, FromClient Elements

	// Queries are the game's, by code: FirstQuery to LastQuery.
	Queries map[uint8]Query

	// Signals are the codes of the game's signals: FirstSignal to LastSignal.
	Signals []uint8
}

// Elements says how long the data of each SID is.
type Elements struct {
	// Sizes are those of single SIDs, and Others that of all that are not in it. With
	// the zero Size for Others, there are no others.
	Sizes  map[int16]Size
	Others Size

	// Kinds says that data begins with a kind, of which 0 is none: "an element that is
	// gone is a SYNC_MSG of its SID with a kind byte 0". Without it the next whole
	// sync tells that an element is gone.
	Kinds bool

	// Moments are SIDs that name things that happen and not things that are, such as
	// a line of chat. Each message of one is told, nothing is kept of it, and it
	// is not gone after a sync that does not name it.
	Moments []int16
}

// Query is a question and its answer. The zero Query has no data in either.
type Query struct {
	Data    Size // of the query
	Reply   Size // of a reply with status 0
	Failure Size // of a reply with any other status

	// Idempotent lets the query go over the feed, where it is repeated until its reply
	// comes: whoever answers may see it twice.
	Idempotent bool

	// Pass makes the query the one that is taken while a player joins: it shows a pass, and
	// Config.Judge answers it. A schema has one such query at most.
	Pass bool
}

// Size says how many bytes data has. The zero Size is none; for a Query that means no
// data.
type Size struct {
	set   bool
	fixed int
	next  func(data []byte) int
}

// Fixed is always n bytes.
func Fixed(n int) Size { return Size{set: true, fixed: n} }

// Growing is found from the data itself. next is given the data so far, first none of it,
// and returns how many bytes it wants to see in all; when it has seen enough it
// returns just as many as it was given. A negative number refuses the data. It is given what
// it asked for, never more, so that it cannot depend on how the bytes came. It must
// keep nothing, and is asked at most 1,024 times a message.
func Growing(next func(data []byte) int) Size { return Size{set: true, next: next} }

// Counted is a number of 1, 2 or 4 bytes and as many bytes as it says. The number
// is a part of the data. It panics if it is told another size of the number.
func Counted(numberBytes int) Size {
	if numberBytes != 1 && numberBytes != 2 && numberBytes != 4 {
		panic("duplex: a count has 1, 2 or 4 bytes")
	}
	return Growing(func(data []byte) int {
		if len(data) < numberBytes {
			return numberBytes
		}
		n := 0
		for _, b := range data[:numberBytes] {
			n = n<<8 | int(b)
		}
		return numberBytes + n
	})
}

// Sequence is one after the other.
func Sequence(parts ...Size) Size {
	fixed := 0
	for _, p := range parts {
		if p.next != nil {
			return Growing(func(data []byte) int { return sequenceNext(parts, data) })
		}
		fixed += p.fixed
	}
	return Fixed(fixed)
}

func sequenceNext(parts []Size, data []byte) int {
	at := 0
	for _, p := range parts {
		var f frame
		switch n, state := f.measure(p, data[at:], MaxMessage); state {
		case frameShort:
			return at + n
		case frameWhole:
			at += n
		default:
			return -1
		}
	}
	return at
}

// Kinds is a kind of one byte and what that kind has. Kind 0 has nothing: it says that an
// element is gone. A kind that is not in the map is refused. See Elements.Kinds.
func Kinds(kinds map[uint8]Size) Size {
	return Growing(func(data []byte) int {
		if len(data) == 0 {
			return 1
		}
		if data[0] == 0 {
			return 1
		}
		size, ok := kinds[data[0]]
		if !ok {
			return -1
		}
		var f frame
		n, state := f.measure(size, data[1:], MaxMessage)
		if state == frameBad {
			return -1
		}
		return 1 + n
	})
}

// frame is how far the size of one message is known.
type frame struct {
	need  int // bytes of data that are wanted
	steps int // times that a function was asked
}

type frameState uint8

const (
	frameShort frameState = iota + 1 // more bytes are needed
	frameWhole                       // that many bytes are the data
	frameBad                         // there is no such data
)

// measure finds the size of what data begins with, and goes on where it stopped when
// there is more of it. The function is asked about the same beginnings, however the
// bytes were cut.
func (f *frame) measure(s Size, data []byte, limit int) (int, frameState) {
	if s.next == nil {
		f.need = s.fixed
		switch {
		case s.fixed < 0 || s.fixed > limit:
			return 0, frameBad
		case s.fixed > len(data):
			return s.fixed, frameShort
		}
		return s.fixed, frameWhole
	}
	for f.need <= len(data) {
		n := s.next(data[:f.need:f.need])
		if n == f.need {
			return n, frameWhole
		}
		if f.steps++; n < f.need || n > limit || f.steps > maxSizeSteps {
			return 0, frameBad
		}
		f.need = n
	}
	return f.need, frameShort
}

// is reports whether data is of a size, to the last byte.
func (s Size) is(data []byte, limit int) bool {
	var f frame
	n, state := f.measure(s, data, limit)
	return state == frameWhole && n == len(data)
}

// rules are a Schema made ready: what is asked for each message is in tables.
type rules struct {
	elements [FromServer + 1]elementRules // by Side
	queries  [LastQuery - FirstQuery + 1]struct {
		Query
		known bool
	}
	pass    uint8  // the query that shows a pass, 0 if there is none
	signals uint64 // a bit for each code that is known, those of the dialect included
}

type elementRules struct {
	sizes   map[int16]Size
	others  Size
	kinds   bool
	moments map[int16]bool
}

// compile makes a schema ready. It panics if it names codes that are not a game's.
func (s *Schema) compile() *rules {
	r := &rules{}
	for code := CodeConnInit; code <= CodeRefused; code++ {
		r.signals |= 1 << code
	}
	if s == nil {
		return r
	}
	for _, code := range s.Signals {
		if code < FirstSignal || code > LastSignal {
			panic(fmt.Sprintf("duplex: the schema has a signal with code %d, and games have %d to %d", code, FirstSignal, LastSignal))
		}
		r.signals |= 1 << code
	}
	for code, q := range s.Queries {
		if code < FirstQuery || code > LastQuery {
			panic(fmt.Sprintf("duplex: the schema has a query with code %d, and games have %d to %d", code, FirstQuery, LastQuery))
		}
		r.queries[code-FirstQuery].Query = q
		r.queries[code-FirstQuery].known = true
		if q.Pass {
			if r.pass != 0 {
				panic(fmt.Sprintf("duplex: the schema has two queries that show a pass: %d and %d", r.pass, code))
			}
			r.pass = code
		}
	}
	r.elements[FromServer] = s.FromServer.compile()
	r.elements[FromClient] = s.FromClient.compile()
	return r
}

func (e *Elements) compile() elementRules {
	r := elementRules{sizes: e.Sizes, others: e.Others, kinds: e.Kinds, moments: map[int16]bool{}}
	for _, sid := range e.Moments {
		r.moments[sid] = true
	}
	return r
}

func (e *elementRules) size(sid int16) (Size, error) {
	size, ok := e.sizes[sid]
	if !ok {
		size = e.others
	}
	if !size.set {
		return Size{}, ErrSID
	}
	return size, nil
}

// isGone reports whether data says that its element is no more.
func (e *elementRules) isGone(data []byte) bool { return e.kinds && len(data) == 1 && data[0] == 0 }

// check returns an error if a message is not in the schema, or its data has another
// size than there.
func (r *rules) check(from Side, m *Message) error {
	switch m.Kind {
	case KindUpdate, KindSync:
		size, err := r.elements[from].size(m.SID)
		if err != nil {
			return err
		}
		return sized(size, m.Data, MaxData)
	case KindSignal:
		if r.signals>>m.Code&1 == 0 {
			return ErrCode
		}
	case KindQuery:
		q := &r.queries[m.Code-FirstQuery]
		if !q.known {
			return ErrCode
		}
		return sized(q.Data, m.Data, MaxQueryData)
	case KindReply:
		q := &r.queries[m.Code-FirstQuery-ReplyOffset]
		if !q.known {
			return ErrCode
		}
		return sized(q.reply(m.Status), m.Data, MaxReplyData)
	}
	return nil
}

func (q *Query) reply(status uint8) Size {
	if status == 0 {
		return q.Reply
	}
	return q.Failure
}

func sized(s Size, data []byte, limit int) error {
	if !s.is(data, limit) {
		return ErrSize
	}
	return nil
}

// Check returns an error if a message that from sent is not one of this schema: ErrCode,
// ErrSID or ErrSize. Of a message that Parse has read, that is all there is left to ask.
// It makes the schema ready each time; endpoints do so once.
func (s *Schema) Check(from Side, m *Message) error { return s.compile().check(from, m) }

package core

import (
	"errors"
	"fmt"
)

// Errors for a message that is not in a schema.
var (
	// ErrCode means that the schema has no message with this code, from this side and on
	// this channel.
	ErrCode = errors.New("duplex: the schema has no such code")
	// ErrSID means that the schema gives no size for this SID.
	ErrSID = errors.New("duplex: the schema has no such SID")
	// ErrSize means that the data does not have the size that the schema gives.
	ErrSize = errors.New("duplex: the size of the data differs from the schema")
)

// Schema gives the sizes of data, as a message does not contain them: "its size in bytes is
// unspecified and can depend on the relevant SID", and for queries and replies "is defined
// according to the specified CODE". Both ends of a connection must have the same Schema. The
// zero Schema has only the dialect's own messages, and none of a game. Schema must not be changed
// after use.
type Schema struct {
	// FromServer and FromClient give the sizes of the elements in updates and syncs, by their
	// sender. A client's data for an element may differ in form from the server's.
	FromServer, FromClient Elements

	// Queries are the game's queries. The keys are their codes, FirstQuery to LastQuery.
	Queries map[uint8]Query

	// Signals are the codes of the game's signals: FirstSignal to LastSignal.
	Signals []uint8
}

// Elements gives the size of the data of each element, by its id, the SID.
type Elements struct {
	// Sizes has the sizes of single SIDs, and Others is the size of all SIDs that are not in
	// it. If Others is the zero Size, there are no others.
	Sizes  map[int16]Size
	Others Size

	// Updates has the sizes of SIDs whose update has another form than their sync. Such an update goes on the
	// feed alone: on main, it would be read as a sync.
	Updates map[int16]Size

	// Kinds means that data begins with a byte for its kind, where 0 is none: "an element that
	// is gone is a SYNC_MSG of its SID with a kind byte 0". Without Kinds, a client learns that
	// an element is gone only with the next sync of all elements.
	Kinds bool

	// Moments are SIDs of events rather than elements, such as a line of chat. Each message is
	// delivered, and nothing of it is kept. There is no EventGone for it after a sync.
	Moments []int16
}

// Query describes a query and its reply. In the zero Query, neither has data.
type Query struct {
	Data    Size // for the query
	Reply   Size // for a reply with status 0
	Failure Size // for a reply with any other status

	// Idempotent allows the query on the feed. There it is repeated until its reply comes, so
	// the peer may see it twice.
	Idempotent bool

	// Pass marks the query with which a player shows its pass while it joins. Config.Judge
	// answers it. A schema has at most one such query.
	Pass bool
}

// Size is the size of data in bytes. The zero Size is none; for a Query that means no data.
type Size struct {
	set   bool
	fixed int
	next  func(data []byte) int
}

// Fixed returns a size of always n bytes.
func Fixed(n int) Size { return Size{set: true, fixed: n} }

// Growing returns a size that follows from the data itself. next is given the data so far,
// at first none, and returns how many bytes it wants to see in all. If that is as many as it
// was given, the data is complete. A negative number refuses the data. next is always given
// as many bytes as it asked for, so that it cannot depend on how they arrived. It must not
// keep the data, and is called at most 1,024 times a message.
func Growing(next func(data []byte) int) Size { return Size{set: true, next: next} }

// Counted returns the size of a big-endian number n of 1, 2 or 4 bytes, followed by n bytes.
// The number is part of the data. Counted panics for any other size of the number.
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

// Sequence returns the size of parts that follow each other.
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

// Kinds returns the size of a kind of one byte followed by the data of that kind. Kind 0 has
// no data: it means that an element is gone. A kind that is not in the map is refused. See
// Elements.Kinds.
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
	updates map[int16]Size
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
	r := elementRules{sizes: e.Sizes, updates: e.Updates, others: e.Others, kinds: e.Kinds, moments: map[int16]bool{}}
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
		if size, ok := r.elements[from].updates[m.SID]; ok && m.Kind == KindUpdate {
			return sized(size, m.Data, MaxData)
		}
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

// Check returns an error if a message that the side from sent is not in this schema: ErrCode,
// ErrSID or ErrSize. It completes the checks of Parse. It compiles the schema on each call;
// endpoints do so once.
func (s *Schema) Check(from Side, m *Message) error { return s.compile().check(from, m) }

package connector

import "parley/internal/wire"

// Message is one of the message types of this package: *ToMain, *FromMain, *ToGame,
// *FromGame, *Peer or *Relayed. Which of them a payload holds depends on who sent it where;
// nothing in it says so.
type Message interface {
	// AppendTo appends the bytes of the message.
	AppendTo(b []byte) []byte

	isMessage()
}

func (*ToMain) isMessage()   {}
func (*FromMain) isMessage() {}
func (*ToGame) isMessage()   {}
func (*FromGame) isMessage() {}
func (*Peer) isMessage()     {}
func (*Relayed) isMessage()  {}

// read reads into a message of any type. The calls are spelled out because one through the
// interface would put every walk, and every message, on the heap.
func read(m Message, r *wire.BigReader) {
	switch m := m.(type) {
	case *ToMain:
		m.read(r)
	case *FromMain:
		m.read(r)
	case *ToGame:
		m.read(r)
	case *FromGame:
		m.read(r)
	case *Peer:
		m.read(r)
	case *Relayed:
		m.read(r)
	}
}

// Messages walks the messages of a payload: they lie one behind the other, with nothing
// between and nothing behind. A payload of no bytes has none.
//
//	msgs := connector.Read(payload)
//	for msgs.Next(&m) {
//		…
//	}
//	if err := msgs.Err(); err != nil { … }
type Messages struct {
	r wire.BigReader
	n int
}

// Read returns a walk over a payload. It keeps it and does not write to it.
func Read(payload []byte) Messages { return Messages{r: wire.Big(payload)} }

// Next reads the next message into m. It returns false at the end, and where what follows
// is no such message: then Kind is unset and Err says why.
func (s *Messages) Next(m Message) bool {
	if s.r.Len() == 0 {
		return false
	}
	read(m, &s.r)
	if !s.r.In("messages", s.n) {
		return false
	}
	s.n++
	return true
}

// Offset returns how many bytes the messages read so far take.
func (s *Messages) Offset() int { return s.r.Offset() }

// OK reports whether all that was read so far was as it must be.
func (s *Messages) OK() bool { return s.r.OK() }

// Err returns nil, or a *wire.Error that names the field that is wrong and its offset, as in
// "messages[2].text size". It allocates.
func (s *Messages) Err() error { return s.r.Err() }

// Check reports whether a payload is a sequence of messages of m's type and nothing else. It
// uses m to read them. "What cannot be cut into messages is dropped and counted": it is asked
// before any message of a package has an effect, so that a package has all of its effects or
// none.
func Check(payload []byte, m Message) bool {
	s := Read(payload)
	for s.Next(m) {
	}
	return s.OK()
}

// nameOf returns the name of a value of a closed set; the zero one's for what is none.
func nameOf[T ~uint8](v T, names []string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return names[0]
}

package connector

import "parley/internal/wire"

// Message is one of the message types of this package: *ToMain, *FromMain, *ToGame,
// *FromGame, *Peer or *Relayed. The type of a payload's messages depends on its sender and
// port: the payload itself does not say.
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

// Messages is an iterator over the messages of a payload, which follow each other without
// gaps. An empty payload has none.
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

// Read returns an iterator over the messages of a payload. It keeps the payload and does not
// write to it.
func Read(payload []byte) Messages { return Messages{r: wire.Big(payload)} }

// Next reads the next message into m. It returns false at the end, and at bytes that are not
// a message of m's type: then Kind is unset and Err returns the error.
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

// Offset returns the size in bytes of the messages read so far.
func (s *Messages) Offset() int { return s.r.Offset() }

// OK reports whether everything read so far was valid.
func (s *Messages) OK() bool { return s.r.OK() }

// Err returns nil, or a *wire.Error that names the wrong field and its offset, as in
// "messages[2].text size". It allocates.
func (s *Messages) Err() error { return s.r.Err() }

package core

import (
	"encoding/binary"

	"parley/internal/wire"
)

// A form says who may send a kind of message on which channels, and what to say when
// another does, or it comes elsewhere.
type form struct {
	sides          Side
	channels       Channel
	sender, placed string
}

const (
	bothSides    = FromClient | FromServer
	bothChannels = Main | Feed
	senderUnset  = "the sender is unset"
	channelUnset = "the channel is unset"
)

var forms = [...]form{
	KindUpdate:      {bothSides, Feed, senderUnset, "an update goes on feed"},
	KindSync:        {bothSides, Main, senderUnset, "a sync goes on main"},
	KindConnInitRep: {FromServer, Main, "only a server replies to a connection", "a conn_init_rep goes on main"},
	KindFeedInit:    {FromClient, Feed, "only a client asks for a feed", "a feed_init goes on feed"},
	KindFeedInitRep: {FromServer, Feed, "only a server replies to a feed_init", "a feed_init_rep goes on feed"},
	KindSignal:      {bothSides, bothChannels, senderUnset, channelUnset},
	KindQuery:       {bothSides, bothChannels, senderUnset, channelUnset},
	KindReply:       {bothSides, bothChannels, senderUnset, channelUnset},
}

// kinds gives the kind of each code, 0 for what is none.
var kinds = func() (k [256]Kind) {
	k[CodeUpdate], k[CodeSync] = KindUpdate, KindSync
	k[CodeConnInitRep], k[CodeFeedInit], k[CodeFeedInitRep] = KindConnInitRep, KindFeedInit, KindFeedInitRep
	for code := CodeConnInit; code <= LastSignal; code++ {
		k[code] = KindSignal
	}
	for code := FirstQuery; code <= LastQuery; code++ {
		k[code], k[code+ReplyOffset] = KindQuery, KindReply
	}
	return k
}()

// KindOf returns the kind of messages with this code, 0 if there is none.
func KindOf(code uint8) Kind { return kinds[code] }

// Parse reads b as exactly one message that the side from sent on a channel, and reports
// whether it is valid. If not, Kind is unset and the other fields are meaningless. Data
// shares the memory of b: copy what must outlive it. Parse does not know the schema: see
// Schema.Check.
func (m *Message) Parse(from Side, on Channel, b []byte) bool {
	r := wire.Big(b)
	return m.read(from, on, &r)
}

// ParseErr is Parse with an error: nil, or one that names the wrong field and its offset.
// It is for tools and logs, as the error is allocated.
func (m *Message) ParseErr(from Side, on Channel, b []byte) error {
	r := wire.Big(b)
	m.read(from, on, &r)
	return r.Err()
}

func (m *Message) read(from Side, on Channel, r *wire.BigReader) bool {
	m.readAll(from, on, r)
	if !r.Done() {
		m.Kind = 0
		return false
	}
	return true
}

func (m *Message) readAll(from Side, on Channel, r *wire.BigReader) {
	*m = Message{}
	at := r.Offset()
	m.Code = r.U8("code")
	if !r.OK() {
		return
	}
	if m.Kind = kinds[m.Code]; m.Kind == 0 {
		r.Fail(at, "code", "no message has this code")
		return
	}
	f := &forms[m.Kind]
	if f.sides&from == 0 {
		r.Fail(at, "code", f.sender)
		return
	}
	if f.channels&on == 0 {
		r.Fail(at, "code", f.placed)
		return
	}
	m.readBody(r)
}

func (m *Message) readBody(r *wire.BigReader) {
	switch m.Kind {
	case KindUpdate, KindSync:
		m.SID = r.I16("SID")
		m.Data = r.Rest("data", MaxData)
	case KindConnInitRep, KindFeedInit:
		m.Player, m.Token = r.I16("player"), r.I32("token")
	case KindFeedInitRep:
		m.Token = r.I32("token")
	case KindQuery:
		m.Data = r.Rest("data", MaxQueryData)
	case KindReply:
		m.Status = r.U8("status")
		m.Data = r.Rest("data", MaxReplyData)
	}
}

// AppendTo appends the message. Fields that its kind does not have are left out. It does
// not check the others: with a code of another kind, or data over its limit, it writes
// bytes that Parse refuses or reads as that code. It panics if m.Kind is unset.
func (m *Message) AppendTo(b []byte) []byte {
	switch m.Kind {
	case KindUpdate, KindSync:
		b = append(b, CodeUpdate+byte(m.Kind-KindUpdate))
		b = binary.BigEndian.AppendUint16(b, uint16(m.SID))
		return append(b, m.Data...)
	case KindConnInitRep, KindFeedInit:
		b = append(b, CodeConnInitRep+byte(m.Kind-KindConnInitRep))
		b = binary.BigEndian.AppendUint16(b, uint16(m.Player))
		return binary.BigEndian.AppendUint32(b, uint32(m.Token))
	case KindFeedInitRep:
		return binary.BigEndian.AppendUint32(append(b, CodeFeedInitRep), uint32(m.Token))
	case KindSignal:
		return append(b, m.Code)
	case KindQuery:
		return append(append(b, m.Code), m.Data...)
	case KindReply:
		return append(append(b, m.Code, m.Status), m.Data...)
	}
	panic("duplex: AppendTo of a message without a kind")
}

// Parse reads b as exactly one datagram that the side from sent, and reports whether it is
// valid. Data shares the memory of b.
func (d *Datagram) Parse(from Side, b []byte) bool {
	r := wire.Big(b)
	return d.read(from, &r)
}

// ParseErr is Parse with an error; see Message.ParseErr.
func (d *Datagram) ParseErr(from Side, b []byte) error {
	r := wire.Big(b)
	d.read(from, &r)
	return r.Err()
}

func (d *Datagram) read(from Side, r *wire.BigReader) bool {
	// "MAGIC is a magic number, used to ensure that the message is valid." (feed channel)
	if magic := r.U64("magic"); magic != Magic {
		r.Fail(0, "magic", "not that of the feed")
	}
	d.Sequence = int64(r.U64("sequence"))
	if d.Sequence < 1 {
		r.Fail(8, "sequence", "sequences start at 1")
	}
	if !r.OK() {
		d.Message = Message{}
		return false
	}
	return d.Message.read(from, Feed, r)
}

// AppendTo appends the datagram. See Message.AppendTo.
func (d *Datagram) AppendTo(b []byte) []byte {
	return d.Message.AppendTo(appendHeader(b, d.Sequence))
}

func appendHeader(b []byte, sequence int64) []byte {
	b = binary.BigEndian.AppendUint64(b, Magic)
	return binary.BigEndian.AppendUint64(b, uint64(sequence))
}

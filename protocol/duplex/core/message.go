package core

import "parley/internal/wire"

// A Side is the end of a connection that sent a message. Three of the messages are sent
// by one side only.
type Side = wire.Side

// The two sides. The zero Side is unset, and no message from it is accepted. The values
// are bits, so that the senders of a message are a set (see forms in codec.go).
const (
	FromClient = wire.FromClient
	FromServer = wire.FromServer
)

// A Channel is one of the two channels between a client and a server. The zero Channel is
// unset, and no message on it is accepted. The values are bits, as those of Side are.
type Channel uint8

// The channels: main is TCP, or TLS over it; feed is UDP.
const (
	Main Channel = 1 << iota
	Feed
)

// String returns the name of the channel.
func (c Channel) String() string {
	switch c {
	case Main:
		return "main"
	case Feed:
		return "feed"
	}
	return "unset"
}

// A Kind is one of the layouts of a message. The zero Kind is unset.
type Kind uint8

// The kinds, with their channels.
const (
	KindUpdate      Kind = iota + 1 // feed: the present value of an element
	KindSync                        // main: the same, reliable
	KindConnInitRep                 // main, server: the client's id and token
	KindFeedInit                    // feed, client: opens or keeps a feed
	KindFeedInitRep                 // feed, server: its answer
	KindSignal                      // both: only a code
	KindQuery                       // both: a question
	KindReply                       // both: its answer
)

var kindNames = [...]string{
	"unset",
	KindUpdate:      "update",
	KindSync:        "sync",
	KindConnInitRep: "conn_init_rep",
	KindFeedInit:    "feed_init",
	KindFeedInitRep: "feed_init_rep",
	KindSignal:      "signal",
	KindQuery:       "query",
	KindReply:       "reply",
}

// String returns the name of the kind.
func (k Kind) String() string { return wire.NameOf(k, kindNames[:]) }

// The codes. The document refers to a table of codes but does not contain one. These codes
// are ours.
const (
	CodeUpdate      = 1
	CodeSync        = 2
	CodeConnInitRep = 3
	CodeFeedInit    = 4
	CodeFeedInitRep = 5

	// Signals of the dialect itself.
	CodeConnInit   = 6  // client: let me in
	CodeConnFailed = 7  // client: the feed does not work; go on with main alone
	CodeConnOK     = 8  // client: the feed works
	CodeSyncReq    = 9  // client: send me all elements
	CodeSyncStart  = 10 // server: all elements follow
	CodeSyncEnd    = 11 // server: those were all elements
	CodeSyncOK     = 12 // client: I have it
	CodeRefused    = 13 // server: you are not let in

	// FirstSignal to LastSignal are signals of the game.
	FirstSignal = 14
	LastSignal  = 63

	// FirstQuery to LastQuery are queries of the game. The reply to each has a code that
	// is ReplyOffset above its own.
	FirstQuery  = 64
	LastQuery   = 127
	ReplyOffset = 128
)

// Message is one message of either channel. It begins with its code; numbers are big
// endian:
//
//	                code        from offset 1
//	                           +------------+------------------------+
//	update          1          | SID i16    | data, 0 to 65,532      |
//	                           +------------+------------------------+
//	sync            2          | SID i16    | data, 0 to 65,532      |
//	                           +------------+-----------+------------+
//	conn_init_rep   3          | player i16 | token i32 |
//	                           +------------+-----------+
//	feed_init       4          | player i16 | token i32 |
//	                           +-----------++-----------+
//	feed_init_rep   5          | token i32 |
//	                           +-----------+
//	signal          6 to 63      nothing
//	                           +-------------------------------------+
//	query           64 to 127  | data, 0 to 65,534                   |
//	                           +-----------+-------------------------+
//	reply           192 to 255 | status u8 | data, 0 to 65,533       |
//	                           +-----------+-------------------------+
//
// A message does not contain the size of its data. In a datagram, the data extends to the end.
// In the stream, the Schema gives its size. A message has one encoding.
type Message struct {
	Kind Kind

	// Code is the first byte. Parse sets it for every kind. AppendTo uses it for signals,
	// queries and replies only.
	Code uint8

	SID    int16 // for update and sync: the element
	Player int16 // for conn_init_rep and feed_init
	Token  int32 // for conn_init_rep, feed_init and feed_init_rep
	Status uint8 // for reply: 0 is success

	// Data is the data of update, sync, query and reply. It may be empty.
	Data []byte
}

// Datagram is a datagram of the feed: one message, behind a header of 16 bytes.
//
//	 0                         8             16
//	+-------------------------+-------------+---------+
//	| FF 1C EC 0F FE ED EF EC | SEQ i64     | message |
//	+-------------------------+-------------+---------+
type Datagram struct {
	// Sequence is the number of the datagram among those of its sender, from 1.
	Sequence int64

	Message
}

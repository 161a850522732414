package core

import "parley/internal/wire"

// A Side is the end of a connection that sent a message. All but three of the 22 messages are
// sent by one side only.
type Side = wire.Side

// The two sides. The zero Side is unset, and no message from it is accepted. The values are
// bits, so that the senders of a message are a set (see kinds).
const (
	FromClient = wire.FromClient
	FromServer = wire.FromServer

	fromBoth = FromClient | FromServer
)

// A Kind is one of the 22 messages. The zero Kind is unset; the byte on the wire is one
// less than the Kind.
type Kind uint8

// The messages, in the order of the document's table.
const (
	KindPing Kind = iota + 1
	KindPong
	KindExit
	KindLogin
	KindLoginResponse
	KindRegister
	KindRegisterResponse
	KindMetaAction
	KindChunkUpdate
	KindTerrainRequest
	KindEntitiesUpdate
	KindEntityUpdate
	KindActionsDone
	KindActionDo
	KindEntityCreate
	KindEntityDestroy
	KindChatSend
	KindChatReceive
	KindVersion
	KindConfig
	KindEntityIDChange
	KindChunksUpdate
)

// kinds are the rows of the document's table: who sends a message, and whether it has a tick.
var kinds = [...]struct {
	name  string
	sides Side
	tick  bool
}{
	0:                    {"unset", 0, false},
	KindPing:             {"ping", fromBoth, false},
	KindPong:             {"pong", fromBoth, false},
	KindExit:             {"exit", fromBoth, false},
	KindLogin:            {"login", FromClient, false},
	KindLoginResponse:    {"login_response", FromServer, false},
	KindRegister:         {"register", FromClient, false},
	KindRegisterResponse: {"register_response", FromServer, false},
	KindMetaAction:       {"meta_action", FromServer, true},
	KindChunkUpdate:      {"chunk_update", FromServer, true},
	KindTerrainRequest:   {"terrain_request", FromClient, false},
	KindEntitiesUpdate:   {"entities_update", FromServer, true},
	KindEntityUpdate:     {"entity_update", FromClient, true},
	KindActionsDone:      {"actions_done", FromServer, true},
	KindActionDo:         {"action_do", FromClient, true},
	KindEntityCreate:     {"entity_create", FromServer, true},
	KindEntityDestroy:    {"entity_destroy", FromServer, true},
	KindChatSend:         {"chat_send", FromClient, false},
	KindChatReceive:      {"chat_receive", FromServer, true},
	KindVersion:          {"version", FromClient, false},
	KindConfig:           {"config", FromServer, false},
	KindEntityIDChange:   {"entity_id_change", FromServer, false},
	KindChunksUpdate:     {"chunks_update", FromServer, true},
}

// String returns the name of the message in the document's table.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k].name
	}
	return kinds[0].name
}

// HasTick reports whether the message carries a tick after its type.
func (k Kind) HasTick() bool { return int(k) < len(kinds) && kinds[k].tick }

// Senders returns the sides that may send the message, as a set of bits.
func (k Kind) Senders() Side {
	if int(k) < len(kinds) {
		return kinds[k].sides
	}
	return 0
}

// Message is one message of either side. Each begins with its type, followed by its tick if
// it has one. Numbers are big endian, and str is a size u16 and as many bytes of UTF-8:
//
//	 0      1          3
//	+------+----------+---------
//	| type | tick u16 | content      the tick is there on the messages marked t
//	+------+----------+---------
//
//	type                      content
//	 0   ping                 nothing
//	 1   pong                 nothing
//	 2   exit                 code u8, 0 to 7
//	 3   login                name str, password str
//	 4   login_response       code u8, 0 to 5; with code 0 also tick u16, timestamp u64
//	 5   register             name str, password str
//	 6   register_response    code u8, 0 to 5
//	 7 t meta_action          entity u16, code u8, 0 or 1; with code 0 also name str
//	 8 t chunk_update         one chunk            message_terrain.go
//	 9   terrain_request      count u8, bx i16 and by i16 each
//	10 t entities_update      count u16, entity blocks   message_entity.go
//	11 t entity_update        one entity block
//	12 t actions_done         count u16, entity u16 and an action each   message_action.go
//	13 t action_do            one action
//	14 t entity_create        one entity block
//	15 t entity_destroy       entity u16
//	16   chat_send            text str
//	17 t chat_receive         entity u16, text str
//	18   version              version u16
//	19   config               maxRollbackTicks u16, timeServerPort u16, the game's fields
//	20   entity_id_change     old u16, new u16
//	21 t chunks_update        count u16, chunks
//
// A message has one encoding. Fields that a kind does not have are zero after Parse, and
// AppendTo leaves them out.
type Message struct {
	Kind Kind

	// Tick is the low 16 bits of "the current logic frame on the simulator that sends the
	// message". A login_response with code 0 has one too.
	Tick uint16

	// Code is for exit, login_response, register_response and meta_action: an ExitCode,
	// LoginCode, RegisterCode or MetaCode.
	Code uint8

	ID      uint16 // for meta_action, entity_destroy and chat_receive: the entity
	Old     uint16 // for entity_id_change: the temporary id
	New     uint16 // for entity_id_change: the server's id
	Version uint16 // for version

	Timestamp uint64 // for login_response: Unix µs at which Tick began

	MaxRollbackTicks uint16 // for config
	TimeServerPort   uint16 // for config
	Extension        Fields // for config: the game's own fields, by its Schema

	Name     []byte // for login, register and a meta_action of a joining player
	Password []byte // for login and register
	Text     []byte // for chat_send and chat_receive

	Entity   Entity   // for entity_create and entity_update
	Entities Entities // for entities_update
	Chunk    Chunk    // for chunk_update
	Chunks   Chunks   // for chunks_update
	Wanted   Wanted   // for terrain_request
	Action   Action   // for action_do
	Actions  Actions  // for actions_done
}

package core

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Cluster is what the owner of rooms needs of a node: package cluster has it over NATS. Calls with a context read or write the store, or ask other
// nodes: they take from a millisecond to many seconds, and are not for the goroutine that runs the rooms. All calls are for any goroutine.
type Cluster interface {
	// ID tells this run of this node from all others. No player may know it.
	ID() uint64

	// Settle returns the settings of a room: those of the node that was the first to say some. It waits for the cluster, within bounds.
	Settle(room string, settings []byte) ([]byte, error)

	// Join begins this node's part in a room of these settings: it loads the world, follows the log, and makes entries when it is the sequencer.
	Join(room string, settings []byte, c PartConfig) (Part, error)

	// Peers begins to hear what the participants of a room at other nodes say to those here, past its log. Any goroutine may call hear, one at a
	// time, with messages of this node too. hear must not keep b.
	Peers(room string, hear func(b []byte)) (Peers, error)

	Directory
	Entry
	Others
}

// A Directory has the rooms of a cluster. Settings are read by its users only, and no two rooms that ever were may have the same.
type Directory interface {
	// CreateRoom puts a room into the directory. It returns false if one of that name is there.
	CreateRoom(ctx context.Context, name string, settings []byte) (created bool, err error)

	// ChangeRoom has a room begin anew with other settings, if it has those of before. It returns the settings that it has then.
	ChangeRoom(ctx context.Context, name string, before, after []byte) (now []byte, err error)

	// EndRoomOf takes the room of these settings out of the directory, with its log. All nodes are told.
	EndRoomOf(ctx context.Context, name string, settings []byte) (ended bool, err error)

	// ClearRoom removes the log of settings that the room has no more.
	ClearRoom(ctx context.Context, name string, settings []byte) error

	// RoomSettings reads the settings of a room.
	RoomSettings(ctx context.Context, name string) (settings []byte, ok bool, err error)

	// WatchRooms calls fn for each room that is there, and for each that comes or goes, one after another.
	WatchRooms(fn func(name string, settings []byte, there bool))
}

// Entry is what lets players in, on any node.
type Entry interface {
	// Spend notes for what a ticket was used: once in the whole cluster. The error is a *SpentError if it was used before.
	Spend(ctx context.Context, serial [16]byte, expires time.Time, room string) error

	// PutTokens notes in which rooms the sessions of tokens are.
	PutTokens(ctx context.Context, list []Token) error

	// RoomOfToken returns in which room the session of a token is.
	RoomOfToken(ctx context.Context, hash [32]byte) (room string, ok bool, err error)

	// PutBan keeps a ban under a name until a time; zero is for ever. Only the caller reads body. DeleteBan removes it, Bans returns all, and WatchBans
	// calls fn for each that is there, and for each that comes or goes, one after another.
	PutBan(ctx context.Context, name string, body []byte, until time.Time) error
	DeleteBan(ctx context.Context, name string) error
	Bans(ctx context.Context) (map[string][]byte, error)
	WatchBans(fn func(name string, body []byte, there bool))
}

// Others are the other nodes.
type Others interface {
	// Living returns the IDs of the nodes that live and serve the same game, this one among them. One that is draining is among them only if all are.
	Living() []uint64

	// Place returns the node that a new room is best given to, and where its players reach it.
	Place() (node uint64, addrs map[string]string, ok bool)

	// Called returns what a node calls itself, for people.
	Called(id uint64) string

	// Drain has the node make no entries any more: other nodes do, if there are some.
	Drain()

	// Answer has fn answer what nodes ask about a topic. Ask asks all nodes that live: if some are silent, the error is a *SilentError, and the answers
	// of the others are there. AskNode asks one.
	Answer(topic string, fn func(ctx context.Context, body []byte) []byte) error
	Ask(ctx context.Context, topic string, body []byte) (map[uint64][]byte, error)
	AskNode(ctx context.Context, id uint64, topic string, body []byte) ([]byte, error)
}

// A Token is that of a session, as the store knows it.
type Token struct {
	Hash [32]byte
	Room string
	TTL  time.Duration // 0 is for ever
}

// SpentError says that a ticket has let somebody in already.
type SpentError struct {
	Room string // into which
	Node uint64 // by which node
}

func (e *SpentError) Error() string {
	return fmt.Sprintf("cluster: the ticket was used for room %q", e.Room)
}

// SilentError says which nodes have not answered in time.
type SilentError struct{ Nodes []uint64 }

func (e *SilentError) Error() string {
	names := make([]string, len(e.Nodes))
	for i, id := range e.Nodes {
		names[i] = NodeName(id)
	}
	return "cluster: no answer in time from node " + strings.Join(names, ", ")
}

// NodeName writes the ID of a node, for people and for programs whose numbers have fewer bits.
func NodeName(id uint64) string {
	s := strconv.FormatUint(id, 16)
	return strings.Repeat("0", 16-len(s)) + s
}

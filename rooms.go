package parley

import (
	"slices"
	"strings"
	"time"

	"parley/play/gateway"
)

// MainRoom is the name of the room that every server has. Players who ask for no room play in it.
const MainRoom = gateway.MainRoom

// Room says how a room is opened: a world of its own, with its own players. All rooms of a server play the same game. A Room with
// a name is usable.
type Room struct {
	// Name is 1 to 32 of a-z, 0-9 and -. Players ask for the room by its name.
	Name string

	// Seed is the seed of the room's random source and terrain. Default 0.
	Seed uint64

	// Mode is a text for the game, which reads it with World.Mode: the rules by which the room plays, for example. At most 255
	// bytes. Default none.
	Mode string

	// MaxPlayers bounds the players of the room, at most world.MaxPlayers. Default: Config.MaxPlayers.
	MaxPlayers int

	// Closed admits only players with a ticket for the room, and the accounts of realm that Accounts names. With Config.TicketKey
	// every room is closed.
	Closed   bool
	Accounts []string

	// Idle is how long the room stays when nobody is in it. Then it is closed. Default: one minute, and for ever for MainRoom.
	// Negative means for ever.
	Idle time.Duration

	// ByPlayers says that strangers had the room opened, through a part of your own that lets them. One in eight of
	// Config.MaxRooms is left for rooms without it, so that strangers cannot keep you from opening one. Rooms of matches have it.
	ByPlayers bool
}

// RoomState is what a room is at.
type RoomState struct {
	Room // as it was opened, with the defaults filled in

	Players int           // those who are away included
	Away    int           // of them, those whose connection is lost and whose place is held
	Tick    uint64        // the number of its next tick
	TickP99 time.Duration // how long a tick takes, of 99 in a hundred
	Asleep  bool          // nobody is there, so it has no ticks
	Kept    bool          // it is on disk, see Config.Keep
	Node    string        // of a cluster's room: the server that runs it, this one if it does; empty if none does

	Late      uint64        // ticks that began more than half a period late
	LatelyP50 time.Duration // how long the newest ticks took, at most 256: half of them
	LatelyP99 time.Duration // and 99 in a hundred
}

// Open opens a room. The room sleeps until somebody enters: it has no ticks, and costs memory only. Open returns ErrRoomThere if
// there is a room of that name, and ErrTooManyRooms if the server has Config.MaxRooms, or seven eighths of it with ByPlayers.
func (s *Server) Open(r Room) error {
	return waited(s.hub.OpenRoom(r.settings()))
}

// CloseRoom tells the players of a room that it is closed, and ends it. If the room is kept, its files are removed, unless
// Config.KeepHistory is set. It returns ErrNoRoom if there is no such room, and
// ErrMainRoom for MainRoom.
func (s *Server) CloseRoom(name string) error {
	return waited(s.hub.EndRoom(name))
}

// Rooms returns all rooms, by name. Of rooms of a cluster that do not run on this server it says what the others told within the last second. If some do not
// answer, what they run looks asleep.
func (s *Server) Rooms() (list []RoomState, err error) {
	elsewhere, silent := s.hub.Elsewhere()
	if silent != nil {
		s.Log().Warn("the list of rooms is not whole", "err", silent)
	}
	var lately []gateway.Lately
	err = s.do(func() {
		for _, r := range s.hub.Rooms() {
			list = append(list, stateOf(r.Settings(), r.Stats(), s.hub.Node()))
			lately = append(lately, r.Lately())
		}
	})
	for i := range lately { // here, where no tick waits for it
		list[i].LatelyP50, list[i].LatelyP99 = lately[i].Quantile(.5), lately[i].Quantile(.99)
	}
	for _, r := range elsewhere {
		r.RoomStats.Asleep = r.RoomStats.Asleep || r.Rests
		list = append(list, stateOf(r.Settings, r.RoomStats, r.Node))
	}
	slices.SortStableFunc(list, func(a, b RoomState) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(list, func(a, b RoomState) bool { return a.Name == b.Name }), err
}

func stateOf(s gateway.Settings, st gateway.RoomStats, node string) RoomState {
	return RoomState{Room: roomOf(s), Players: st.Players, Away: st.Away, Tick: st.Tick, TickP99: st.TickP99, Asleep: st.Asleep, Kept: st.Kept, Late: st.Late, Node: node}
}

func (r Room) settings() gateway.Settings {
	return gateway.Settings{Name: r.Name, Seed: r.Seed, Mode: r.Mode, MaxPlayers: r.MaxPlayers, Closed: r.Closed, Accounts: slices.Clone(r.Accounts), Idle: r.Idle, ByPlayers: r.ByPlayers}
}

func roomOf(s gateway.Settings) Room {
	return Room{Name: s.Name, Seed: s.Seed, Mode: s.Mode, MaxPlayers: s.MaxPlayers, Closed: s.Closed, Accounts: slices.Clone(s.Accounts), Idle: s.Idle, ByPlayers: s.ByPlayers}
}

// Errors of rooms. Test for them with errors.Is.
var (
	// ErrNoRoom means that there is no such room.
	ErrNoRoom = gateway.ErrNoRoom
	// ErrRoomThere means that there is a room of that name.
	ErrRoomThere = gateway.ErrRoomThere
	// ErrTooManyRooms means that the server has as many rooms as Config.MaxRooms allows.
	ErrTooManyRooms = gateway.ErrRooms
	// ErrMainRoom means that MainRoom cannot be closed alone.
	ErrMainRoom = gateway.ErrMainRoom
)

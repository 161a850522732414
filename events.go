package parley

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"parley/play/gateway"
	"parley/world"
)

// Event is something that happened in a room and stays true: its tick can no longer be rewound. With Config.Keep it is also on disk, synced,
// so that no kill and no loss of power takes it back. Kind, Tick, Index, Player (0 is the world itself, or the operator), Name, Action and
// Text are those of its Fact. As returns the values of an action. Of Ended, Text is the result.
type Event = gateway.Event

// Place says behind which event of the rooms of a name a consumer is. Save the Place of an event together with what you made of
// the event, and go on behind it after a restart. Its text (String, ParsePlace) is for files and databases.
type Place = gateway.Place

// GapError means that events behind a place are gone. After is the place of the last event that the consumer had, and GoOn the one from
// which there are some. A room that was closed without a result while nobody listened is not remembered, and makes no gap.
type GapError = gateway.GapError

// FromNow, given to Server.Events, leaves out all that has happened so far.
var FromNow = gateway.FromNow

// ParsePlace reads the text of a place. An empty text is the zero Place.
func ParsePlace(s string) (Place, error) { return gateway.ParsePlace(s) }

// The kinds of events.
const (
	Joined = world.FactJoined // a player has joined
	Left   = world.FactLeft   // a player has left
	Away   = world.FactAway   // a player's connection is gone, and its place is held
	Back   = world.FactBack   // a player's client is there again
	Acted  = world.FactActed  // an action was done: As returns its values, as Step has reported them with world.Done
	Said   = world.FactSaid   // a player has said Text. Player 0 is the operator
	Ended  = world.FactEnded  // the room has ended. Text is its result, empty if it was closed
)

// As returns the values of an action that was done, if the action is T:
//
//	if fire, ok := parley.As[Fire](ev); ok { … }
func As[T any](ev Event) (v T, ok bool) { return world.As[T](&ev.Fact) }

// Errors of Events, View and Inject, beside ErrNoRoom, ErrClosed and ErrInStep. Test for them with errors.Is.
var (
	// ErrSlow means that a consumer did not take events for so long that the buffer for it is full. The event that comes with the error has
	// the Place to go on behind.
	ErrSlow = gateway.ErrSlow
	// ErrRoomFailed means that the room has ended because its game panicked or did not end its Step.
	ErrRoomFailed = gateway.ErrFailed
	// ErrNoAction means that the game has no such action.
	ErrNoAction = world.ErrNoAction
	// ErrTooMany means that too many injected actions wait for a room's ticks.
	ErrTooMany = world.ErrTooMany
)

// Events yields what happens in the rooms of a name behind a place, in order, and goes on as it happens:
//
//	for ev, err := range server.Events(ctx, parley.MainRoom, place) {
//		if err != nil { … }
//		switch ev.Kind { … }
//	}
//
// An event comes once, when its tick can no longer be rewound: a second after it happened, by default. With Config.Keep it comes
// when it is synced, which takes up to a second or so more with KeepSecond. While the disk fails, events wait for it.
//
// The zero Place is before all that there is. With Config.Keep that is the log since the older of two snapshots, some 30 to 60
// s, which is run again. It also is that of the newest 256 rooms that ended with a result. Else events are those from now on.
// If there may be events between the place and what there is, the iteration ends with a *GapError. When a room has ended, the
// iteration goes on with the next room of its name, as of MainRoom; if there is none, it ends without an error.
//
// The iteration ends with the first error, and the Place of the event beside it is that of the last event before. Nobody waits
// for a slow consumer: when 16,384 events wait for it, the iteration ends with ErrSlow. ErrClosed means that the server ends:
// events that were not final then come after a restart, if the room is kept.
func (s *Server) Events(ctx context.Context, room string, after Place) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for ev, err := range s.hub.Follow(ctx, room, after) {
			if !yield(ev, waited(err)) {
				return
			}
		}
	}
}

// eventsBehind is how far back events can be had at least, in the time of a room's ticks, however often the server is started anew. Snapshots
// are 30 s apart, so this takes no more than two of them as long as it runs.
const eventsBehind = 25 * time.Second

// waited returns the server's own error for one of the hub.
func waited(err error) error {
	switch {
	case errors.Is(err, gateway.ErrPlaying):
		return ErrInStep
	case errors.Is(err, gateway.ErrEnded):
		return ErrClosed
	}
	return err
}

// View calls fn with the world of a room between two ticks, and returns when fn has. fn may read the world; it must not change
// it and must not keep it. The room's next tick waits for fn, so fn should take far less than a tick. Other rooms go on. In fn,
// methods of the server that wait return ErrInStep. A panic in fn is the caller's, and does not harm the room.
func (s *Server) View(room string, fn func(w *world.World)) error {
	return waited(s.hub.View(room, fn))
}

// Inject has the world itself do an action in a room, at its next tick: Step gets it as an Act of player 0, before those of players.
// action is a struct of Game.Actions. It is in the log, as what players do is. Inject returns when the action waits for its tick, and
// ErrTooMany when 256 wait already.
func (s *Server) Inject(room string, action any) error {
	if err := s.hub.Bring(room); err != nil {
		return waited(err)
	}
	var refused error
	if err := s.do(func() {
		if r := s.hub.Room(room); r == nil {
			refused = fmt.Errorf("%w: %s", ErrNoRoom, room)
		} else {
			refused = r.Inject(action)
		}
	}); err != nil {
		return err
	}
	return refused
}

// ChatLine is a line that a player wants to say: see Config.Chat.
type ChatLine = gateway.ChatLine

// RoomEnded is a room that its game has ended with World.End.
type RoomEnded struct {
	Room   string
	Opened time.Time // tells it from other rooms of that name
	Tick   uint64    // its last
	At     time.Time // when it ended
	Result string
}

// Result returns how the newest room of a name ended that its game has ended. The newest 256 such rooms are known, with
// Config.Keep also after a restart.
func (s *Server) Result(room string) (e RoomEnded, ok bool) {
	list, _ := s.Results()
	for _, had := range list {
		if had.Room == room {
			e, ok = had, true
		}
	}
	return e, ok
}

// Results returns the newest 256 rooms that their games have ended, the newest last.
func (s *Server) Results() (list []RoomEnded, err error) {
	err = s.do(func() {
		for _, e := range s.hub.Ended() {
			list = append(list, RoomEnded{e.Room, time.UnixMicro(e.Opened), e.Tick, e.At, e.Result})
		}
	})
	return list, err
}

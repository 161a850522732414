package web

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"time"
)

const (
	noSuchRoom = "there is no such room"
	noSuchNode = "no such node lives"
	alone      = "the server is in no cluster"
)

// calls is the table of the operator's API.
var calls []call

func init() { // the calls of /v1/openapi.json refer to the table itself
	calls = []call{
		row(call{method: "GET", path: "/v1/server", what: "What the server is and where it listens."},
			func(op Operator, _ *http.Request, _ none) (Server, error) { return op.Server() }),
		row(call{method: "GET", path: "/v1/rooms", what: "All rooms."},
			func(op Operator, _ *http.Request, _ none) (Rooms, error) {
				list, err := op.Rooms()
				return Rooms{some(list)}, err
			}),
		row(call{method: "POST", path: "/v1/rooms", what: "Open a room.", status: http.StatusCreated,
			refusals: map[int]string{http.StatusConflict: "there is a room of that name, or there are as many rooms as --max-rooms allows"},
			example:  NewRoom{Name: "duel-7", Mode: "duel", MaxPlayers: 2, Idle: 300}},
			func(op Operator, _ *http.Request, b NewRoom) (Room, error) {
				if b.Idle < -1 || b.Idle > maxSeconds {
					return Room{}, refuse(http.StatusBadRequest, `"idle" is %d: give -1, or 0 to %d seconds`, b.Idle, maxSeconds)
				}
				return op.Open(b)
			}),
		row(call{method: "GET", path: "/v1/rooms/{room}", at: "/v1/rooms/duel-7", what: "A room. Of the newest 256 rooms that have ended, it has the result.", refusals: map[int]string{http.StatusNotFound: noSuchRoom}},
			func(op Operator, r *http.Request, _ none) (Room, error) { return op.Room(r.PathValue("room")) }),
		row(call{method: "DELETE", path: "/v1/rooms/{room}", at: "/v1/rooms/duel-7", what: "Close a room. Its players are told.",
			refusals: map[int]string{http.StatusNotFound: noSuchRoom, http.StatusConflict: "the room is main, which ends with the server"}},
			func(op Operator, r *http.Request, _ none) (none, error) {
				return none{}, op.CloseRoom(r.PathValue("room"))
			}),
		row(call{method: "GET", path: "/v1/rooms/{room}/players", at: "/v1/rooms/main/players", what: "The players of a room.", refusals: map[int]string{http.StatusNotFound: noSuchRoom}},
			func(op Operator, r *http.Request, _ none) (Players, error) {
				list, err := op.Players(r.PathValue("room"))
				return Players{some(list)}, err
			}),
		row(call{method: "GET", path: "/v1/rooms/{room}/map", at: "/v1/rooms/main/map", what: "Where things are in a room: a sample of its bodies, and its walls. It is read once a second at most, however many ask.", refusals: map[int]string{http.StatusNotFound: noSuchRoom}},
			func(op Operator, r *http.Request, _ none) (Map, error) { return op.Map(r.PathValue("room")) }),
		row(call{method: "GET", path: "/v1/players", what: "The players of all rooms."},
			func(op Operator, _ *http.Request, _ none) (Players, error) {
				list, err := op.Players("")
				return Players{some(list)}, err
			}),
		row(call{method: "DELETE", path: "/v1/rooms/{room}/players/{id}", at: "/v1/rooms/main/players/3", what: "Kick a player, who is told why. The body may be left out.", mayBeEmpty: true,
			refusals: map[int]string{http.StatusNotFound: "there is no such player"}, example: Kick{Reason: "be kind"}},
			func(op Operator, r *http.Request, b Kick) (none, error) {
				id, err := playerID(r)
				if err == nil {
					err = told(b.Reason)
				}
				if err == nil {
					err = op.Kick(r.PathValue("room"), id, b.Reason)
				}
				return none{}, err
			}),
		row(call{method: "GET", path: "/v1/bans", what: "All bans."},
			func(op Operator, _ *http.Request, _ none) (Bans, error) {
				list, err := op.Bans()
				return Bans{some(list)}, err
			}),
		row(call{method: "POST", path: "/v1/bans", what: "Ban an address, a prefix of addresses or an account, in all dialects. Its players are removed and told why. A ban of the same address or account takes the place of the earlier one.",
			refusals: map[int]string{http.StatusNotFound: "there is no such account", http.StatusConflict: "there are no accounts, or there are as many bans as there may be"},
			example:  Ban{Banned: Banned{Address: "203.0.113.0/24"}, Reason: "spam", Until: new(time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC))}},
			func(op Operator, _ *http.Request, b Ban) (Ban, error) {
				err := b.Banned.check()
				if err == nil {
					err = told(b.Reason)
				}
				if err != nil {
					return Ban{}, err
				}
				return op.Ban(b)
			}),
		row(call{method: "DELETE", path: "/v1/bans", what: "Lift a ban.", refusals: map[int]string{http.StatusNotFound: "there is no such ban"}, example: Banned{Address: "203.0.113.0/24"}},
			func(op Operator, _ *http.Request, b Banned) (none, error) {
				if err := b.check(); err != nil {
					return none{}, err
				}
				return none{}, op.Unban(b)
			}),
		row(call{method: "POST", path: "/v1/say", what: "Say a line of chat to a room or to all rooms.", refusals: map[int]string{http.StatusNotFound: noSuchRoom}, example: Say{Room: "main", Text: "Restart in five minutes."}},
			func(op Operator, _ *http.Request, b Say) (none, error) { return none{}, op.Say(b) }),
		row(call{method: "POST", path: "/v1/tickets", what: "Make a ticket, which lets one player into a room, once.",
			refusals: map[int]string{http.StatusConflict: "the server has no ticket key, see --ticket-key-file"}, example: NewTicket{Room: "duel-7", Name: "ada", TTL: 300}},
			func(op Operator, _ *http.Request, b NewTicket) (Ticket, error) {
				if b.TTL < 0 || b.TTL > maxSeconds {
					return Ticket{}, refuse(http.StatusBadRequest, `"ttl" is %d: give 1 to %d seconds`, b.TTL, maxSeconds)
				}
				return op.Ticket(b)
			}),
		{method: "POST", path: "/v1/match", what: "Wait for a match, up to 30 seconds. Those who wait longest are matched first. A room is opened for the match. A client that hangs up waits no longer. While there are seven eighths of --max-rooms rooms, players wait: the others are for rooms that the operator opens.",
			body: reflect.TypeFor[Wish](), answer: reflect.TypeFor[Match](), status: http.StatusOK, also: map[int]string{http.StatusNoContent: "nobody was found in time"},
			example: Wish{Name: "ada", Mode: "duel", Players: 2}, serve: match, waits: true},
		row(call{method: "GET", path: "/v1/cluster", what: "The cluster that the server is in: its nodes, and its rooms with the nodes that run them. All nodes are asked, and have two seconds.", waits: true, refusals: map[int]string{http.StatusConflict: alone}},
			func(op Operator, r *http.Request, _ none) (Cluster, error) { return op.Cluster(r.Context()) }),
		row(call{method: "POST", path: "/v1/cluster/drain", what: "Drain a node and end it: other nodes make the entries of its rooms, its players go on there, and its process ends. The answer comes at once. The body may be left out.", mayBeEmpty: true,
			refusals: map[int]string{http.StatusNotFound: noSuchNode, http.StatusConflict: alone + ", or no other node could take over"}, example: DrainNode{Node: "fra-1"}},
			func(op Operator, r *http.Request, b DrainNode) (none, error) {
				return none{}, op.Drain(r.Context(), b.Node)
			}),
		row(call{method: "POST", path: "/v1/cluster/move", what: "Have a node make the entries of a room. The answer comes when it does, or after eight seconds.", waits: true,
			refusals: map[int]string{http.StatusNotFound: "no such node lives, or none runs such a room", http.StatusConflict: alone + ", or the node cannot make the room's entries"}, example: MoveRoom{Room: "main", Node: "fra-2"}},
			func(op Operator, r *http.Request, b MoveRoom) (none, error) {
				return none{}, op.Move(r.Context(), b)
			}),
		row(call{method: "GET", path: "/v1/log", what: "The level of the log and its newest lines."},
			func(op Operator, _ *http.Request, _ none) (Log, error) {
				return Log{levelName(op.LogLevel()), some(op.LogLines())}, nil
			}),
		row(call{method: "PUT", path: "/v1/log", what: "Set the least level that is logged, until the server ends.", example: Level{"debug"}},
			func(op Operator, _ *http.Request, b Level) (Level, error) {
				var level slog.Level
				if err := level.UnmarshalText([]byte(b.Level)); err != nil || levelName(level) != strings.ToLower(b.Level) {
					return Level{}, refuse(http.StatusBadRequest, `"level" is %q: give debug, info, warn or error`, b.Level)
				}
				op.SetLogLevel(level)
				return Level{levelName(op.LogLevel())}, nil
			}),
		{method: "GET", path: "/v1/history", what: "What the last ten minutes were like, with a point for each two seconds.", body: reflect.TypeFor[none](), answer: reflect.TypeFor[History](), status: http.StatusOK,
			serve: func(a *api, _ http.ResponseWriter, _ *http.Request, _ any) (int, any, error) {
				return http.StatusOK, a.history.all(), nil
			}},
		{method: "GET", path: "/v1/counters", what: "All counters, named for people.", body: reflect.TypeFor[none](), answer: reflect.TypeFor[Counters](), status: http.StatusOK,
			serve: func(a *api, _ http.ResponseWriter, _ *http.Request, _ any) (int, any, error) {
				return http.StatusOK, countersFor(a.stats()), nil
			}},
		{method: "GET", path: "/v1/live", what: "Server-sent events of what changes, once a second, for a page; see above.", body: reflect.TypeFor[none](), answer: reflect.TypeFor[none](), status: http.StatusOK, stream: (*api).watch,
			says: "a stream of the event live", events: []reflect.Type{reflect.TypeFor[Live]()}},
		{method: "GET", path: "/v1/events", what: "Server-sent events, see above. Fetch it with the token in the header; EventSource of browsers cannot.", body: reflect.TypeFor[none](), answer: reflect.TypeFor[none](), status: http.StatusOK, stream: (*api).events,
			says: "a stream of events: state, log, ended and lost", events: []reflect.Type{reflect.TypeFor[State](), reflect.TypeFor[LogLine](), reflect.TypeFor[Ending](), reflect.TypeFor[Lost]()}},
		{method: "GET", path: "/v1/openapi.json", what: "This API as an OpenAPI document, version 3.1.", body: reflect.TypeFor[none](), answer: reflect.TypeFor[map[string]any](), status: http.StatusOK,
			serve: func(a *api, _ http.ResponseWriter, _ *http.Request, _ any) (int, any, error) {
				return http.StatusOK, json.RawMessage(a.spec), nil
			}},
	}
}

// levelName is a level as the API writes it. Levels between the four count as the next lower one.
func levelName(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warn"
	}
	return "error"
}

// some returns a list that JSON writes as [] if it is empty.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

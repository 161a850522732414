package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// Operator is a running server as the operator's API knows it. Its methods are called by any goroutine, at most maxAtOnce of
// them at a time, and Match by more. An error that is no Refusal is logged and answered with status 500.
type Operator interface {
	Server() (Server, error)

	Rooms() ([]Room, error)
	// Room returns a room, also one that has ended as far as that is known.
	Room(name string) (Room, error)
	Open(NewRoom) (Room, error)
	CloseRoom(name string) error
	// Players returns the players of a room, or of all rooms if room is "".
	Players(room string) ([]Player, error)
	Kick(room string, id uint16, reason string) error

	Bans() ([]Ban, error)
	Ban(Ban) (Ban, error)
	Unban(Banned) error
	Say(Say) error
	Ticket(NewTicket) (Ticket, error)
	// Match waits until a match is found, nobody is found in time, or ctx ends. It reports whether one was found.
	Match(ctx context.Context, who Wish) (m Match, found bool, err error)

	LogLevel() slog.Level
	SetLogLevel(slog.Level)
	// LogLines returns the newest lines of the log, oldest first.
	LogLines() []LogLine
	// Ended returns the newest rooms that have ended, oldest first.
	Ended() []Ending

	// Cluster returns the cluster that the server is in, Drain drains a node of it ("" is the server itself), and Move has a node make the entries
	// of a room.
	Cluster(ctx context.Context) (Cluster, error)
	Drain(ctx context.Context, node string) error
	Move(ctx context.Context, m MoveRoom) error

	// Map returns where things are in a room. It may be a second old.
	Map(room string) (Map, error)
	// Pulse is cheap, and does not wait for a tick.
	Pulse() Pulse
}

// Refusal is the error of a request that the server cannot or will not do: what is wrong, and the HTTP status that says so.
type Refusal struct {
	Status int
	Err    error
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(status int, format string, args ...any) error {
	return &Refusal{status, fmt.Errorf(format, args...)}
}

// The bodies of requests and answers. The tag doc describes a field in /v1/openapi.json and docs/api.md. A field with the tag
// api:"required" must be in a request.

// Server is what a server is.
type Server struct {
	Name      string    `json:"name" doc:"the name of the game"`
	Version   string    `json:"version" doc:"the version of the program"`
	Node      string    `json:"node" doc:"the name of the machine, or that of --node"`
	Cluster   string    `json:"cluster,omitempty" doc:"the cluster that it is in; left out if it is alone"`
	TickRate  int       `json:"tick_rate" doc:"ticks a second"`
	Players   int       `json:"players" doc:"players of all rooms, those who are away included"`
	Rooms     int       `json:"rooms" doc:"rooms"`
	Addresses []Address `json:"addresses" doc:"where the dialects listen, and where browsers reach them"`
}

// Address is where a dialect listens.
type Address struct {
	Dialect string `json:"dialect" doc:"the dialect, or a part of it such as duplex-feed"`
	Carrier string `json:"carrier" doc:"udp, tcp or tls; and for browsers ws, wss (over TLS) or wt"`
	Address string `json:"address" doc:"host:port"`
}

// States of a room.
const (
	Awake  = "awake"
	Asleep = "asleep"
	Over   = "ended"
)

// Room is a room. One that has ended has only a name, the state Over, Tick, Ended and Result.
type Room struct {
	Name       string     `json:"name" doc:"its name"`
	State      string     `json:"state" doc:"awake, asleep (nobody is there, so it has no ticks) or ended"`
	Mode       string     `json:"mode" doc:"its mode, a text that the game reads"`
	Seed       Seed       `json:"seed" doc:"its seed, a text, as numbers of JavaScript have 53 bits"`
	Open       bool       `json:"open" doc:"whether guests may enter without a ticket"`
	MaxPlayers int        `json:"max_players" doc:"the most players"`
	Accounts   []string   `json:"accounts" doc:"the accounts that may enter although it is not open"`
	Idle       int64      `json:"idle" doc:"how many seconds it stays when empty; -1 is for ever"`
	Players    int        `json:"players" doc:"players, those who are away included"`
	Away       int        `json:"away" doc:"players whose connection is lost and whose place is held"`
	Tick       uint64     `json:"tick" doc:"the number of its next tick"`
	TickP99    float64    `json:"tick_p99_ms" doc:"how many milliseconds a tick takes, of 99 in a hundred"`
	LatelyP50  float64    `json:"lately_p50_ms" doc:"how many milliseconds the newest 256 ticks took, half of them"`
	LatelyP99  float64    `json:"lately_p99_ms" doc:"how many milliseconds the newest 256 ticks took, of 99 in a hundred"`
	Late       uint64     `json:"late" doc:"ticks so far that began more than half a period late"`
	Kept       bool       `json:"kept" doc:"whether it is on disk"`
	Node       string     `json:"node" doc:"the machine that it is on"`
	Ended      *time.Time `json:"ended,omitempty" doc:"when the last room of this name ended"`
	Result     string     `json:"result,omitempty" doc:"the result with which the game ended it"`
}

// NewRoom is a room that is to be opened.
type NewRoom struct {
	Name       string   `json:"name" api:"required" doc:"1 to 32 of a-z, 0-9 and -"`
	Seed       Seed     `json:"seed,omitempty" doc:"its seed, a text or a number; default 0"`
	Mode       string   `json:"mode,omitempty" doc:"its mode, a text that the game reads, at most 255 bytes"`
	MaxPlayers int      `json:"max_players,omitempty" doc:"the most players; default that of the server"`
	Open       *bool    `json:"open,omitempty" doc:"whether guests may enter without a ticket; default true"`
	Accounts   []string `json:"accounts,omitempty" doc:"the accounts that may enter although it is not open"`
	Idle       int64    `json:"idle,omitempty" doc:"how many seconds it stays when empty; -1 is for ever, default 60"`
}

// Rooms is a list of rooms.
type Rooms struct {
	Rooms []Room `json:"rooms" doc:"by name"`
}

// Player is a player.
type Player struct {
	ID      uint16    `json:"id" doc:"the player's number in its room"`
	Name    string    `json:"name" doc:"the player's name"`
	Dialect string    `json:"dialect" doc:"the dialect of its connection; the last one while it is away"`
	Carrier string    `json:"carrier" doc:"udp, tcp, tls, ws or wt"`
	Room    string    `json:"room" doc:"the room that it is in"`
	Address string    `json:"address" doc:"its address, host:port"`
	Since   time.Time `json:"since" doc:"when it entered"`
	RTT     float64   `json:"rtt_ms" doc:"the round-trip time of its connection in milliseconds; 0 is unknown"`
	Away    bool      `json:"away" doc:"whether its connection is lost and its place is held"`
	Conn    uint32    `json:"conn" doc:"the number of its connection in the log"`

	// Of its connection, so far.
	BytesIn      uint64 `json:"bytes_in" doc:"bytes of payload that came over its connection"`
	BytesOut     uint64 `json:"bytes_out" doc:"bytes of payload that were sent over its connection"`
	BytesArrived uint64 `json:"bytes_arrived" doc:"bytes of which it is known that they arrived, headers included; 0 over TCP, TLS and WebSocket, which do not say so"`
	BytesLost    uint64 `json:"bytes_lost" doc:"bytes that are taken for lost, likewise"`
}

// Players is a list of players.
type Players struct {
	Players []Player `json:"players" doc:"by room and number"`
}

// Kick says why a player is removed.
type Kick struct {
	Reason string `json:"reason,omitempty" doc:"what the player is told, at most 255 bytes"`
}

// Banned is who is banned: an address or an account.
type Banned struct {
	Address string `json:"address,omitempty" doc:"an IP address, or a prefix such as 203.0.113.0/24"`
	Account string `json:"account,omitempty" doc:"the name of an account"`
}

// Ban is a ban of an address or of an account.
type Ban struct {
	Banned
	Reason string     `json:"reason,omitempty" doc:"what a player is told whom the ban removes, at most 255 bytes"`
	Until  *time.Time `json:"until,omitempty" doc:"when it ends; without it, it is for ever"`
}

// Bans is a list of bans.
type Bans struct {
	Bans []Ban `json:"bans" doc:"addresses first"`
}

// Say is a line of chat of the server.
type Say struct {
	Room string `json:"room,omitempty" doc:"the room; all rooms if it is left out"`
	Text string `json:"text" api:"required" doc:"at most 512 bytes"`
}

// NewTicket is a ticket that is to be made.
type NewTicket struct {
	Room string `json:"room,omitempty" doc:"the room; main if it is left out"`
	Name string `json:"name,omitempty" doc:"the player's name in the game"`
	TTL  int64  `json:"ttl,omitempty" doc:"for how many seconds it is valid; default 60"`
}

// Ticket is a ticket.
type Ticket struct {
	Ticket  string    `json:"ticket" doc:"the ticket in hex, for parley join --ticket"`
	Room    string    `json:"room" doc:"the room that it leads to"`
	Expires time.Time `json:"expires" doc:"until when it is valid"`
}

// Wish is a player who waits for a match.
type Wish struct {
	Name    string `json:"name,omitempty" doc:"the player's name in the game"`
	Mode    string `json:"mode,omitempty" doc:"the mode of the match's room: players of one mode are matched with each other"`
	Players int    `json:"players,omitempty" doc:"the players of the match, at least 2; default 2"`
}

// Match is a match that was found.
type Match struct {
	Room      string    `json:"room" doc:"the room that was opened for it"`
	Ticket    string    `json:"ticket" doc:"the player's ticket for the room, in hex"`
	Addresses []Address `json:"addresses" doc:"where the dialects listen"`
}

// Level is the least level that is logged.
type Level struct {
	Level string `json:"level" api:"required" doc:"debug, info, warn or error"`
}

// Log is the level of the log and its newest lines.
type Log struct {
	Level string    `json:"level" doc:"the least level that is logged: debug, info, warn or error"`
	Lines []LogLine `json:"lines" doc:"the newest lines, oldest first"`
}

// LogLine is a line of the log.
type LogLine struct {
	Time  time.Time `json:"time" doc:"when it was written"`
	Level string    `json:"level" doc:"debug, info, warn or error"`
	Text  string    `json:"text" doc:"the message and its values"`
}

// Ending is the end of a room.
type Ending struct {
	Room   string    `json:"room" doc:"its name"`
	Result string    `json:"result" doc:"the result with which the game ended it; may be empty"`
	Tick   uint64    `json:"tick" doc:"its last tick"`
	Ended  time.Time `json:"ended" doc:"when it ended"`
}

// Seed is the seed of a room. In JSON it is a text, because numbers of JavaScript have 53 bits and a seed has 64. A number is
// read, too.
type Seed uint64

// MarshalJSON writes a text.
func (s Seed) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatUint(uint64(s), 10)), nil
}

// UnmarshalJSON reads a text or a number.
func (s *Seed) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	if text == "null" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return errors.New("a seed is a whole number of 0 to 18446744073709551615, as a text or a number")
	}
	*s = Seed(n)
	return nil
}

var (
	_ json.Marshaler   = Seed(0)
	_ json.Unmarshaler = (*Seed)(nil)
)

package web

import (
	"context"
	"net/netip"
)

// Lobby is a running server as players know it before they play: what listens where, which rooms are open, and who else wants to
// play. Its methods are called by any goroutine. An error that is no Refusal is logged and answered with status 500.
type Lobby interface {
	// About returns what a client needs to connect. It is called for each request, so it must be cheap.
	About() PlayServer

	// OpenRooms returns the rooms that anybody may enter, by name.
	OpenRooms() ([]PlayRoom, error)

	// OpenRoom opens a room that anybody may enter, with its defaults filled in.
	OpenRoom(PlayRoom) (PlayRoom, error)

	// Depart says that the player of a session may not come back. It does not wait, and a token that nobody has does nothing.
	Depart(token [16]byte)

	// Match waits until a match is found or ctx ends. It reports whether one was found.
	Match(ctx context.Context, from netip.Addr, who Wish) (m Match, found bool, err error)
}

// PlayServer is the answer of /play/server: what a client needs to connect. An address without a host is that of the request.
type PlayServer struct {
	Game         string                 `json:"game" doc:"the name of the game"`
	Fingerprint  string                 `json:"fingerprint" doc:"tells games and their versions apart: the same kinds and actions have the same fingerprint"`
	TickRate     int                    `json:"tick_rate" doc:"ticks a second"`
	Dialects     map[string]PlayAddress `json:"dialects" doc:"where each dialect listens"`
	WebTransport *PlayWT                `json:"wt,omitempty" doc:"where WebTransport is, at /wt/ and a dialect's name; not there if it is off"`
	Schema       any                    `json:"schema,omitempty" doc:"what a client without the game's code has to know: kinds, actions, how fields travel, and what stops bodies"`
}

// PlayWT is where WebTransport is.
type PlayWT struct {
	Port   int      `json:"port" doc:"the UDP port"`
	Hashes []string `json:"hashes,omitempty" doc:"the SHA-256 of the server's certificate and of the next one, in hex; not there if an authority vouches for the certificate"`

	// Loopback says that only this machine reaches it. Others are not told of it.
	Loopback bool `json:"-"`
}

// PlayAddress is where a dialect listens.
type PlayAddress struct {
	Carrier string `json:"carrier" doc:"udp, tcp, tls, ws or wt"`
	Address string `json:"address" doc:"host:port"`
}

// PlayRoom is a room that anybody may enter.
type PlayRoom struct {
	Name       string `json:"name" doc:"its name"`
	Mode       string `json:"mode" doc:"its mode, a text that the game reads"`
	Players    int    `json:"players" doc:"players, those who are away included"`
	MaxPlayers int    `json:"max_players" doc:"the most players"`
}

// PlayRooms is the answer of GET /play/rooms.
type PlayRooms struct {
	Rooms []PlayRoom `json:"rooms" doc:"by name, at most 1,000"`
}

// PlayWish is the body of POST /play/rooms: a room with a free place is wanted.
type PlayWish struct {
	Mode       string `json:"mode,omitempty" doc:"the mode of the room"`
	MaxPlayers int    `json:"max_players,omitempty" doc:"the most players of the room; default any, and that of the server if the room is new"`
}

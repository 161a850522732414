package client

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strings"

	"parley/play/line"
	"parley/play/message"
	"parley/protocol/realm/core"
	"parley/world"
)

// Config sets up a Client. The zero Config is usable: a guest in the room main, with any name. Config is not changed after use.
type Config struct {
	// Name is the name that the player wants, and over realm that of its account. An address may have it too: realm://ann@host.
	Name string

	// Password is that of the account, over realm. An account that does not exist is registered. An address may have it too, but
	// addresses are seen by others: realm://ann:secret@host.
	Password string

	// Room is the room to enter. Default: the room main. stamp has no choice of rooms: the server says which one it shows.
	Room string

	// Ticket is for a server that wants one, over replica, relay and duplex. It is used up. It says which room and which name, so
	// Room and Name do not count.
	Ticket []byte

	// Session is the token of a player whose connection was lost in another process, as Client.Session returned it: Dial goes on as
	// that player, over replica, relay or duplex. Then Ticket, Room and Name do not count.
	Session [16]byte

	// NoReturn ends the game when the connection is lost. Default: the player comes back by itself, as long as its place is held.
	NoReturn bool

	// NoPrediction draws the own entity as the others, when the server has told of it: for games whose Step cannot run on what one
	// player sees.
	NoPrediction bool

	// Trust is asked whether a certificate of realm is the server's, with the address as it was written and the certificate's SHA-256
	// in hex, before a password is sent. An error ends Dial, and a player who comes back is out of the game. Default: any certificate
	// is accepted, as servers sign their own. Over wss and wt only a certificate is asked about that no authority vouches for, nor, for
	// wt, the server's page at the same port. There the default is that it is refused.
	Trust func(addr, fingerprint string) error

	// Authorities are those that may vouch for a server's certificate and its name, so that Trust is not asked. An empty pool has Trust
	// asked about every certificate. Default: the system's over wss and wt, and none over realm.
	Authorities *x509.CertPool

	// Plain turns realm's TLS off: a password then crosses the network in clear.
	Plain bool

	// TickRate is the server's ticks a second, over realm and stamp, which do not tell it. Default 20. Over realm the own entity is where
	// the server has it only if this is right.
	TickRate int

	// FirstType and RealmFields are for a server of realm with a profile of its own: the number of the kind that is type 0, and the
	// fields that the game adds to realm's config message.
	FirstType   int
	RealmFields []core.Field
}

// maxWays bounds the addresses of a list.
const maxWays = 16

// line returns how the player connects.
func (c *Config) line(urls string, g world.Game, s *world.Schema) (line.Config, error) {
	l := line.Config{
		Game: g.Name, Schema: s, TickRate: c.TickRate, Name: c.Name, Password: c.Password, Room: c.Room, Ticket: c.Ticket, Session: message.Token(c.Session),
		Resume: line.Resume{On: !c.NoReturn}, Trust: c.Trust, Authorities: c.Authorities, Plain: c.Plain, FirstType: c.FirstType, RealmConfig: c.RealmFields, Detail: true,
	}
	for text := range strings.SplitSeq(urls, ",") {
		if len(l.Ways) == maxWays {
			return l, fmt.Errorf("client: more than %d addresses: leave some out", maxWays)
		}
		u, err := url.Parse(strings.TrimSpace(text))
		if err == nil && u.Hostname() != "" && strings.Trim(u.Path, "/") != "" {
			return l, fmt.Errorf("client: %q has a path: leave out %s; Config.Room says which room", hidden(text), u.Path)
		}
		if err == nil && strings.Contains(strings.TrimSuffix(u.Host, ":"+u.Port()), ":") && !strings.HasPrefix(u.Host, "[") {
			return l, fmt.Errorf("client: %q has an IPv6 address without brackets: write one such as %s://[::1]:7000", hidden(text), u.Scheme)
		}
		if err != nil || u.Hostname() == "" || u.RawQuery != "" {
			return l, fmt.Errorf("client: %q is no address: write one such as replica://127.0.0.1:7000", hidden(text))
		}
		dialect, carrier, named := strings.Cut(u.Scheme, "+")
		if named && carrier == "" || strings.Contains(u.Scheme, "+") && !line.IsDialect(dialect) {
			return l, fmt.Errorf("client: %q is no address: write a dialect, and behind + what carries it, such as replica+wss://127.0.0.1:8000", hidden(text))
		}
		port := u.Port()
		if port == "" {
			port = line.PortOf(dialect, carrier)
		}
		if dialect == "stamp" && c.Room != "" {
			return l, fmt.Errorf("client: stamp has no rooms to choose from: the server says which one it shows; leave Room %q out", c.Room)
		}
		l.Ways = append(l.Ways, line.Way{Dialect: dialect, Carrier: carrier, Addr: net.JoinHostPort(u.Hostname(), port)})
		if name := u.User.Username(); l.Name == "" {
			l.Name = name
		}
		if word, ok := u.User.Password(); ok && l.Password == "" {
			l.Password = word
		}
	}
	return l, nil
}

// hidden returns an address without the password that may be in it.
func hidden(text string) string {
	if at := strings.LastIndex(text, "@"); at >= 0 {
		return "…" + text[at:]
	}
	return text
}

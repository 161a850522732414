package realm

import (
	"crypto/tls"
	"log/slog"
	"net/netip"
	"time"

	"parley/protocol/realm/core"
)

// Config sets up a server or a client. The zero Config is usable. A server then makes and keeps a certificate of its own, and its
// handler answers registrations and log-ins. A client then connects only to a server whose certificate the system trusts.
type Config struct {
	// Config has the settings of the protocol: the game's schema, times and limits.
	core.Config

	// Sessions, at a server, knows the true addresses of clients in browsers, which the server's own addresses do not reach. Package parley sets
	// it. Default: there are none.
	Sessions interface {
		Source(peer netip.AddrPort) netip.AddrPort
	}

	// Banned, at a server, reports whether an address is banned at the time now. What comes from a banned address is dropped and counted
	// before anything else is done, and has no answer. Any goroutine may call it, for each datagram and each connection, so it must
	// not block. Default: nobody is banned.
	Banned func(now time.Time, from netip.Addr) bool

	// Proxies, at a server, are the networks of proxies in front of it. Each of their TCP connections must begin with a header of the PROXY
	// protocol, version 1 or 2, and the address in it is the client's in all limits, bans and logs. No header is read from
	// others. Default: there are none.
	Proxies []netip.Prefix

	// Log gets a line for each connection that begins or ends. Default: none.
	Log *slog.Logger

	// TLS has further settings of TLS, such as a server's certificate. The oldest version is always at least TLS 1.2. For
	// certificates from Let's Encrypt, use the TLSConfig of an autocert.Manager (golang.org/x/crypto/acme/autocert).
	TLS *tls.Config

	// Plain turns TLS off. It is for a server behind a proxy that does TLS. All clients then have the proxy's address, so
	// set TimeForAll too, unless Proxies says whom to believe.
	Plain bool

	// NoTime turns a server's time server off: clients are told port 0. A client with NoTime asks no time server, and knows
	// the server's time only from the log-in.
	NoTime bool

	// Fingerprint, at a client, pins the server's certificate: its SHA-256 in hex, as Server.Fingerprint returns it. Nothing
	// else of the certificate is checked then.
	Fingerprint string

	// Accounts answers registrations and log-ins at a server. Without it, the handler does.
	Accounts Accounts

	// DataDir is the directory in which a server keeps its own certificate. Default: the directory parley in
	// os.UserConfigDir.
	DataDir string

	// TimeAddr is the UDP address of a server's time server, written host:port. Default: the server's own host and port, or
	// another port if that one is taken.
	TimeAddr string

	// TimeForAll makes the time server answer every address, not just those with a live connection.
	TimeForAll bool

	// WaitingPerAddress bounds the connections of an address (/64 of IPv6) that are not in the game. A /24 or /56 network
	// may have eight times as many. Further ones are closed at once, and their clients try again. Default 64. Negative
	// means no limit, and so does Plain without Proxies. With a limit, handshakes are limited too: 128 a second from an address, and 512
	// from a network.
	WaitingPerAddress int
}

// Accounts answers a server's questions about names and passwords. Its methods are called on the
// server's loop and must not block. Register and Login call answer exactly once, during the call or
// later, from any goroutine.
type Accounts interface {
	// Register makes an account. The account must be durable before answer is called with RegisterOK.
	Register(from netip.AddrPort, name, password string, answer func(core.RegisterCode))

	// Login begins a session of an account. An account has one session at a time: while it lasts,
	// another Login with the right password is answered LoginAlreadyConnected. The server then asks the connection of the
	// session whether it is there. If that does not answer within 2 s, the server ends it, and calls Logout and then Login again.
	// name is without the room that a client may have added to it.
	Login(from netip.AddrPort, name, password string, answer func(core.LoginCode))

	// Logout ends the session of a Login that was answered LoginOK. It is called once for each such
	// Login, perhaps before the player is in the game.
	Logout(name string)

	// Key returns the form in which names are compared: two names with the same key are of one account.
	Key(name string) string
}

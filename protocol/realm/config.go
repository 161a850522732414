package realm

import (
	"crypto/tls"
	"log/slog"
	"net/netip"

	"parley/protocol/realm/core"
)

// Config sets up a server or a client. The zero Config is usable: such a server makes and keeps a certificate of its own, and its
// handler answers for accounts; such a client connects to a server whose certificate the system trusts.
type Config struct {
	// Config has the settings of the protocol: the game's schema, times and limits.
	core.Config

	// Log gets a line for each connection that begins or ends. Default: none.
	Log *slog.Logger

	// TLS has further settings of TLS, such as a server's certificate. The oldest version is TLS 1.2, whatever it says. For
	// certificates from Let's Encrypt, use the TLSConfig of an autocert.Manager (golang.org/x/crypto/acme/autocert).
	TLS *tls.Config

	// Plain turns TLS off. A server does so behind a proxy that has TLS. All clients then have the proxy's address, so set
	// TimeForAll too.
	Plain bool

	// NoTime turns the time server off: clients are told port 0. A client with it asks no time server, and knows the
	// server's time only from the log-in.
	NoTime bool

	// Fingerprint pins the server's certificate for a client: its SHA-256 in hex, as Server.Fingerprint returns it. Nothing
	// else of the certificate is checked then.
	Fingerprint string

	// Accounts answers registrations and log-ins at a server. Without it, the handler does.
	Accounts Accounts

	// DataDir is the folder in which a server keeps its own certificate. Default: the directory parley in the user's
	// configuration.
	DataDir string

	// TimeAddr is the address of a server's time server, written host:port. Default: that of the server, over UDP, at
	// another port if that one is taken.
	TimeAddr string

	// TimeForAll makes the time server answer every address, not just those with a live connection.
	TimeForAll bool

	// WaitingPerAddress bounds the connections of an address (of IPv6, of its /64) that are not in the game. A /24 or /56
	// network may have eight times as many. Further ones are closed at once, and their clients try again. Default 64.
	// Negative means no limit, and so does Plain. With a limit, handshakes are limited too: 128 a second of an address, and
	// 512 of a network.
	WaitingPerAddress int
}

// Accounts answers a server's questions about names and passwords. Its methods are called on the
// server's loop and must not block. Each calls answer once, at once or later, from any goroutine.
type Accounts interface {
	// Register makes an account. It must be durable when answer is called with RegisterOK.
	Register(from netip.AddrPort, name, password string, answer func(core.RegisterCode))

	// Login begins a session of an account. An account has one session at a time: while it lasts,
	// another Login is answered LoginAlreadyConnected.
	Login(from netip.AddrPort, name, password string, answer func(core.LoginCode))

	// Logout ends the session of a Login that was answered LoginOK. It is called once for each,
	// perhaps before the player was in the game.
	Logout(name string)
}

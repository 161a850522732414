package call

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"parley/internal/over"
)

// Carrier is what a session runs over.
type Carrier string

// The carriers, by the names that addresses have: replica+ws://host:8000.
const (
	WebSocket    Carrier = "ws"
	WebTransport Carrier = "wt"
)

// Target says where a session goes to. Carrier, Host and Dialect are required.
type Target struct {
	Carrier Carrier
	Secure  bool   // WebSocket: over TLS. WebTransport always is
	Host    string // host:port of the server's --play
	Dialect string

	// Prompt is how long the server may take to say anything at all. Default: as long as the context lasts.
	Prompt time.Duration

	// Patience is how long a server that is busy is asked again. Default: three seconds.
	Patience time.Duration

	// Authorities are those that may vouch for a certificate. Default: the system's. A browser has its own.
	Authorities *x509.CertPool

	// Trust is asked about a certificate that neither an authority vouches for nor, over WebTransport, the server's own page, with its DER
	// bytes. Without it such a server is refused. A browser does not ask.
	Trust func(certificate []byte) error
}

// path is where the dialect is.
func (t *Target) path() string { return "/" + string(t.Carrier) + "/" + t.Dialect }

// hasStream reports whether the dialect's bytes are those of a stream.
func (t *Target) hasStream() bool { return t.Dialect == "duplex" || t.Dialect == "realm" }

// Session is an open session, for one client.
type Session struct {
	target        Target
	local, remote netip.AddrPort
	messages      Messages // nil for WebSocket with a stream
	pipe          Pipe     // nil without a stream
	largest       int
}

// Dial opens a session. Without a deadline in ctx it gives up after handshakeTime. A server that answers 429 or 503, or breaks the
// connection off, is asked again for t.Patience.
func Dial(ctx context.Context, t Target) (*Session, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	switch t.Carrier {
	case WebSocket:
		return again(ctx, t.Patience, func() (*Session, error) { return dialWebSocket(ctx, t) })
	case WebTransport:
		return again(ctx, t.Patience, func() (*Session, error) { return dialWebTransport(ctx, t) })
	}
	return nil, fmt.Errorf("call: there is no carrier %q", t.Carrier)
}

// Open returns what a dialect's client runs over. Call it once.
func (s *Session) Open() (o over.Carriers) {
	if s.pipe != nil { // whose end is that of both
		o.Main = newStream(s)
	}
	if s.messages != nil {
		o.Datagrams = newDatagrams(s, s.pipe != nil)
	}
	return o
}

// Refused means that a server has answered, and opens no session.
type Refused struct {
	Status int    // of HTTP
	Text   string // the server's words, "" if it has none
}

// Error says what to do.
func (e *Refused) Error() string {
	text := e.Text
	switch {
	case text != "":
		text = ": " + text
	case e.Status == http.StatusNotFound:
		text = ": it has no such dialect at this port: check the address"
	case e.Status >= 300 && e.Status < 400:
		text = ": it names another address, which is not followed: write that one"
	}
	return fmt.Sprintf("call: the server answers %d %s%s", e.Status, http.StatusText(e.Status), text)
}

// ErrUntrusted means that nobody vouches for the certificate of a server.
var ErrUntrusted = errors.New("call: the server's certificate is not trusted")

// ErrEnded is inside the error of a loop whose session has ended.
var ErrEnded = errors.New("the session has ended")

// addrOf returns the address of a socket, the one made up for the carrier if it has none.
func addrOf(a net.Addr, made netip.AddrPort) netip.AddrPort {
	if at, ok := a.(interface{ AddrPort() netip.AddrPort }); ok && at.AddrPort().IsValid() {
		return at.AddrPort()
	}
	return made
}

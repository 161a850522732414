package call

import (
	"net"
	"net/netip"
	"time"

	"parley/internal/way"
)

// madeUp returns the address of a server that has none here: what is behind a browser, and that of WebTransport, which says how large packets
// may be.
func madeUp(c Carrier) netip.AddrPort {
	if c == WebTransport {
		return way.SessionAddr(way.WebTransport, 0)
	}
	return way.SessionAddr(way.WebSocket, 0)
}

// unreachable is a net.OpError for who asks whether there is a server.
type unreachable struct{ error }

func (u *unreachable) Unwrap() []error {
	return []error{u.error, &net.OpError{Op: "dial", Net: "tcp", Err: u.error}}
}

// afterClose calls cut in closeTime unless the function that it returns is called before.
func afterClose(cut func()) (done func()) {
	t := time.AfterFunc(closeTime, cut)
	return func() { t.Stop() }
}

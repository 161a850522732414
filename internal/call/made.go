package call

import (
	"net"
	"net/netip"
	"time"
)

// madeUp returns the address of a server that has none here: what is behind a browser, and that of WebTransport, which says how large packets
// may be.
func madeUp(c Carrier) netip.AddrPort {
	b := [16]byte{0xfd, 0x70, 0x61, 0x72, 0x6c, 0x65, 0x79, 0x00, 1}
	if c == WebTransport {
		b[8] = 2
	}
	return netip.AddrPortFrom(netip.AddrFrom16(b), 1)
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

package relay

import (
	"errors"
	"net/netip"
	"testing"

	"parley/internal/udp"
	"parley/protocol/relay/core"
)

// A range of ports is gone through in turn; what is taken is passed over, and when all is, that
// is the error.
func TestFurtherPortsOfARange(t *testing.T) {
	host := netip.MustParseAddr("127.0.0.1")
	var f furtherPorts
	var taken *udp.Socket
	for try := 0; ; try++ { // find three ports in a row of which nobody has the last two
		var err error
		if taken, err = udp.Listen("127.0.0.1:0", portConfig); err != nil {
			t.Fatal(err)
		}
		f = furtherPorts{host: host, first: taken.LocalAddr().Port()}
		f.last = f.first + 2
		if a, err := f.listen(); err == nil && f.last > f.first {
			b, err := f.listen()
			a.Close()
			if err == nil {
				b.Close()
				if b.LocalAddr().Port() == f.first+2 {
					break
				}
			}
		}
		taken.Close()
		if try == 100 {
			t.Skip("no three ports in a row")
		}
	}
	defer taken.Close()
	a, err := f.listen()
	if err != nil || a.LocalAddr().Port() != f.first+1 {
		t.Fatalf("port %v, %v; want %d", a.LocalAddr(), err, f.first+1)
	}
	a.Close()
	b, err := f.listen()
	if err != nil || b.LocalAddr().Port() != f.first+2 {
		t.Fatalf("after one that was closed comes %v, %v; want %d", b.LocalAddr(), err, f.first+2)
	}
	defer b.Close()
	a, err = f.listen()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := f.listen(); err == nil {
		t.Error("a fourth of three ports")
	}
	f = furtherPorts{host: host, first: 5, last: 4}
	if _, err := f.listen(); !errors.Is(err, core.ErrNoPorts) {
		t.Errorf("an empty range: %v", err)
	}
}

package relay

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"parley/internal/udp"
	"parley/protocol/relay/core"
)

// A range of ports is gone through in turn; what is taken is passed over, and when all is, that
// is the error. Another program may take a port that is free just now: then it is tried with others.
func TestFurtherPortsOfARange(t *testing.T) {
	var err error
	for range 100 {
		if err = goThroughARange(t); err == nil {
			break
		}
	}
	if err != nil {
		t.Error(err)
	}
	f := furtherPorts{host: netip.MustParseAddr("127.0.0.1"), first: 5, last: 4}
	if _, err := f.listen(); !errors.Is(err, core.ErrNoPorts) {
		t.Errorf("an empty range: %v", err)
	}
}

// goThroughARange opens and closes the ports of a range of three, of which the first is taken.
func goThroughARange(t *testing.T) error {
	taken, err := udp.Listen("127.0.0.1:0", portConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	first := taken.LocalAddr().Port()
	f := furtherPorts{host: taken.LocalAddr().Addr(), first: first, last: first + 2}
	if f.last < f.first {
		return fmt.Errorf("no two ports follow %d", first)
	}
	for _, want := range []uint16{first + 1, first + 2} { // though the one before is closed
		x, err := f.listen()
		if err != nil {
			return err
		}
		x.Close()
		if got := x.LocalAddr().Port(); got != want {
			return fmt.Errorf("port %d, want %d: %d is taken", got, want, first)
		}
	}
	for range 2 {
		x, err := f.listen()
		if err != nil {
			return err
		}
		defer x.Close()
	}
	if x, err := f.listen(); err == nil {
		x.Close()
		return errors.New("a fourth of three ports")
	}
	return nil
}

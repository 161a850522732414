package replica

import (
	"net/netip"
	"testing"
	"time"

	"parley/internal/shell"
	"parley/protocol/replica/core"
)

// The start of a connection's clock proves an address, so that no two servers may
// agree on it.
func TestEveryServerHasASecretOfItsOwn(t *testing.T) {
	at := memory()
	a, b := at.serve(t, Config{}, nil), at.serve(t, Config{}, nil)
	const hour = 3_600_000_000
	if x, y := acceptTime(t, a), acceptTime(t, b); int64(x-y) > -hour && int64(x-y) < hour {
		t.Errorf("two servers start a client's clock at %d and %d", x, y)
	}
	if x, y := shell.Rand().Uint64(), shell.Rand().Uint64(); x == y {
		t.Errorf("two random sources begin with %d", x)
	}
}

// acceptTime returns the time of the accept that a server answers an init with.
func acceptTime(t *testing.T, s *Server) uint64 {
	var p core.Packet
	err := s.Do(func() {
		var buf [2048]byte
		init := core.Packet{Kind: core.KindInit}
		s.mux.HandleDatagram(time.Now(), netip.MustParseAddrPort("10.0.0.2:5000"), init.AppendTo(nil))
		n, _, _ := s.mux.PollTransmit(buf[:])
		p.Parse(core.FromServer, buf[:n])
	})
	if err != nil || p.Kind != core.KindAccept {
		t.Fatalf("the answer to an init is %v, %v", p.Kind, err)
	}
	return p.Sent
}

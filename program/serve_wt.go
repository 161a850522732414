package program

import (
	"errors"
	"net/netip"
	"syscall"
	"time"

	front "parley"
	"parley/cluster"
	"parley/internal/carry/wt"
	"parley/web"
)

// listenWT serves WebTransport at the UDP port of --play's number. If the system has chosen that and the UDP port is in use, it chooses
// another: players ask for it.
func (f *playFlags) listenWT(at netip.AddrPort, play *web.PlayConfig, l *lobby, own *certificate, anyNumber bool) error {
	c := wt.Config{Building: f.browsers, May: play.MayConnect, Banned: play.Banned, AnyNumber: anyNumber}
	hashes := func() []string { return nil }
	if own != nil {
		c.Certificate = own.get
	} else {
		self, err := wt.NewOwn(time.Now)
		if err != nil {
			return err
		}
		c.Certificate, hashes = self.Certificate, self.Hashes
	}
	server, err := wt.Listen(at.String(), c)
	if errors.Is(err, syscall.EADDRINUSE) && hasPortZero(f.addr) {
		server, err = wt.Listen(netip.AddrPortFrom(at.Addr(), 0).String(), c)
	}
	if err != nil {
		return err
	}
	f.wt.Store(server)
	here := server.Addr()
	tell := func() *web.PlayWT {
		return &web.PlayWT{Port: int(here.Port()), Hashes: hashes(), Loopback: here.Addr().Unmap().IsLoopback()}
	}
	l.wt.Store(&tell)
	return nil
}

// hasPortZero reports whether the system chooses the port of an address.
func hasPortZero(addr string) bool { return len(addr) > 1 && addr[len(addr)-2:] == ":0" }

// webTransport returns the server of WebTransport, nil if there is none.
func (f *playFlags) webTransport() *wt.Server {
	if f.wt == nil {
		return nil
	}
	return f.wt.Load()
}

// closeWT ends the sessions of WebTransport, behind the goodbyes of the dialects.
func (f *playFlags) closeWT() {
	if s := f.webTransport(); s != nil {
		s.Close()
	}
}

// counters are those of a server and of what the program adds to it.
type counters struct {
	front.Stats
	WebTransport *wt.Stats
	Cluster      *clusterStats
}

// clusterStats are the counters of a node of a cluster.
type clusterStats struct {
	cluster.Stats
	Nodes int // that live
}

func (f *serveFlags) counters(s *front.Server) any {
	c := counters{Stats: s.Stats()}
	if w := f.play.webTransport(); w != nil {
		st := w.Stats()
		c.WebTransport = &st
	}
	if f.cluster.node != nil {
		c.Cluster = f.cluster.stats(c.World.HeldCalls)
	}
	return c
}

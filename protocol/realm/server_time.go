package realm

import (
	cryptorand "crypto/rand"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"parley/internal/bans"
	"parley/internal/datagram"
	"parley/internal/udp"
	"parley/protocol/realm/core"
)

// timeShell is a TimeServer at a socket, with a loop of its own: a long turn of the game does
// not make its answers late.
type timeShell struct {
	loop *datagram.Loop
	core *core.TimeServer

	mu   sync.Mutex
	live map[netip.Addr]int // connections by address
	last core.TimeStats     // as of the last turn
}

// listenTime opens the time server at the address of the server: at the same port if it is
// free, unless the configuration names another.
func listenTime(local netip.AddrPort, c *Config, epoch time.Time) (*timeShell, error) {
	addr := c.TimeAddr
	if addr == "" {
		addr = net.JoinHostPort(local.Addr().String(), strconv.Itoa(int(local.Port())))
	}
	socket, err := udp.Listen(addr, udp.Config{Gather: -1})
	if err != nil && c.TimeAddr == "" {
		socket, err = udp.Listen(net.JoinHostPort(local.Addr().String(), "0"), udp.Config{Gather: -1})
	}
	if err != nil {
		return nil, err
	}
	t := &timeShell{live: map[netip.Addr]int{}}
	// The same clock as the Mux's, which is born at the same time.
	start := uint64(epoch.UnixMicro())
	t.core = core.NewTimeServer(t.isLive, func(now time.Time) uint64 { return start + uint64(now.Sub(epoch).Microseconds()) })
	if c.TimeForAll {
		var key [32]byte
		cryptorand.Read(key[:])
		t.core.ServeAll(key)
	}
	// Each question is answered before the next is looked at.
	t.loop = datagram.StartLoop(socket, lateStamps{t.core}, datagram.LoopConfig{AfterTurn: t.afterTurn, Door: bans.NewDoor(c.Banned), TurnDatagrams: 1})
	return t, nil
}

// lateStamps reads the clock for each datagram when it is written, and not when its question came: what the loop does
// in between is none of the delay that a client measures.
type lateStamps struct{ *core.TimeServer }

// PollTransmit calls TimeServer.PollTransmit with the present time.
func (c lateStamps) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if c.Ready() {
		c.Advance(time.Now())
	}
	return c.TimeServer.PollTransmit(buf)
}

func (t *timeShell) isLive(addr netip.Addr) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live[addr.WithZone("")] > 0
}

func (t *timeShell) enter(addr netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live[addr.WithZone("")]++
}

func (t *timeShell) leave(addr netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	addr = addr.WithZone("")
	if t.live[addr]--; t.live[addr] == 0 {
		delete(t.live, addr)
	}
}

func (t *timeShell) afterTurn(time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = t.core.Stats()
}

func (t *timeShell) stats() core.TimeStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	st := t.last
	st.Banned = t.loop.Stats().Banned
	return st
}

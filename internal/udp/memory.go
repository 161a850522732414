package udp

import (
	"net/netip"
	"sync"
	"syscall"

	"parley/internal/datagram"
)

// Network is a network in memory: its sockets behave like real ones, reach only each
// other, and lose only datagrams that find a full queue. It works under testing/synctest.
// The zero Network is ready.
//
// It carries any unicast address. A socket that listens on all addresses receives
// datagrams for which there is no socket at the exact address, and sends from the
// loopback address of the receiver's family.
type Network struct {
	mu       sync.RWMutex
	sockets  map[netip.AddrPort][]*memory
	lastPort uint16
}

// firstPort is the first port that is chosen for port 0, as on most systems.
const firstPort = 32768

// Listen is like the package's Listen.
func (n *Network) Listen(addr string, c Config) (*Socket, error) {
	group, err := n.ListenGroup(addr, 1, c)
	if err != nil {
		return nil, err
	}
	return group[0], nil
}

// ListenGroup is like the package's ListenGroup.
func (n *Network) ListenGroup(addr string, members int, c Config) ([]*Socket, error) {
	at, err := resolve(addr)
	if err == nil {
		var group []*Socket
		if group, err = n.bind(at, netip.AddrPort{}, max(members, 1), c.withDefaults()); err == nil {
			return group, nil
		}
	}
	return nil, &OpenError{"listen on", addr, err}
}

// Dial is like the package's Dial. The socket has the loopback address of the peer's
// family.
func (n *Network) Dial(addr string, c Config) (*Socket, error) {
	peer, err := resolvePeer(addr)
	if err == nil {
		var group []*Socket
		if group, err = n.bind(netip.AddrPortFrom(loopback(peer.Addr()), 0), peer, 1, c.withDefaults()); err == nil {
			return group[0], nil
		}
	}
	return nil, &OpenError{"dial", addr, err}
}

func (n *Network) bind(at, remote netip.AddrPort, members int, c Config) ([]*Socket, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sockets == nil {
		n.sockets = make(map[netip.AddrPort][]*memory)
		n.lastPort = firstPort - 1
	}
	if at.Port() == 0 {
		port, ok := n.freePort(at.Addr())
		if !ok {
			return nil, syscall.EADDRINUSE
		}
		at = netip.AddrPortFrom(at.Addr(), port)
	}
	if n.sockets[at] != nil {
		return nil, syscall.EADDRINUSE
	}
	var group []*Socket
	for range members {
		counts := new(counters)
		m := &memory{queue: newQueue(maxQueued, counts), network: n, config: c, local: at, remote: remote}
		n.sockets[at] = append(n.sockets[at], m)
		group = append(group, newSocket(m, c, at, remote, counts))
	}
	return group, nil
}

// freePort returns the next port that no socket at ip has. The caller holds the
// lock.
func (n *Network) freePort(ip netip.Addr) (uint16, bool) {
	for range 65536 - firstPort {
		if n.lastPort++; n.lastPort < firstPort {
			n.lastPort = firstPort
		}
		if n.sockets[netip.AddrPortFrom(ip, n.lastPort)] == nil {
			return n.lastPort, true
		}
	}
	return 0, false
}

// find returns the socket that a datagram from one address to another reaches,
// or nil. A sender stays with one socket of a group.
func (n *Network) find(from, to netip.AddrPort) *memory {
	n.mu.RLock()
	defer n.mu.RUnlock()
	group := n.sockets[to]
	if group == nil && to.Addr().Is4() {
		group = n.sockets[netip.AddrPortFrom(netip.IPv4Unspecified(), to.Port())]
	}
	if group == nil {
		group = n.sockets[netip.AddrPortFrom(netip.IPv6Unspecified(), to.Port())]
	}
	if len(group) == 0 {
		return nil
	}
	ip := from.Addr().As16()
	hash := uint32(from.Port()) * 2654435761
	for _, b := range ip {
		hash = (hash ^ uint32(b)) * 16777619
	}
	m := group[hash%uint32(len(group))]
	if m.remote.IsValid() && m.remote != from {
		return nil
	}
	return m
}

func (n *Network) remove(m *memory) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var rest []*memory
	for _, x := range n.sockets[m.local] {
		if x != m {
			rest = append(rest, x)
		}
	}
	if rest == nil {
		delete(n.sockets, m.local)
		return
	}
	n.sockets[m.local] = rest
}

// memory is a socket on a Network.
type memory struct {
	*queue
	network       *Network
	config        Config
	local, remote netip.AddrPort
}

func (m *memory) write(out *datagram.SendBatch) error {
	m.mu.Lock()
	closed := m.closed
	m.mu.Unlock()
	if closed {
		m.counts.lost(datagram.FaultOther, out.Len())
		return ErrClosed
	}
	var t datagram.Tally
	entries := out.Entries()
	for i := range entries {
		e := &entries[i]
		to := Canonical(e.To)
		if !m.reaches(to) {
			m.counts.lost(datagram.FaultBadAddress, 1)
			continue
		}
		if m.config.Faults != nil {
			if errno := m.config.Faults(true); errno != 0 {
				m.counts.lost(faultOfErrno(errno), 1)
				continue
			}
		}
		t.Datagrams++
		t.Bytes += uint64(e.N)
		from := m.local
		if from.Addr().IsUnspecified() {
			from = netip.AddrPortFrom(loopback(to.Addr()), from.Port())
		}
		if peer := m.network.find(from, to); peer != nil {
			peer.push(from, out.Payload(e))
		}
	}
	if t.Datagrams > 0 {
		m.counts.sent(&t)
	}
	return nil
}

// reaches reports whether a real socket bound as m is could send to an address.
func (m *memory) reaches(to netip.AddrPort) bool {
	if m.remote.IsValid() {
		return to == m.remote
	}
	if _, ok := zoneIndex(to.Addr()); !ok || !to.IsValid() || to.Port() == 0 {
		return false
	}
	return m.local.Addr() == netip.IPv6Unspecified() || m.local.Addr().Is4() == to.Addr().Is4()
}

// loopback returns the loopback address of ip's family.
func loopback(ip netip.Addr) netip.Addr {
	if ip.Is4() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.IPv6Loopback()
}

func (m *memory) writeInTurn(out *datagram.SendBatch) error { return m.write(out) }

func (m *memory) newRecvBatch() *RecvBatch {
	return &RecvBatch{RecvBatch: datagram.NewRecvBatch(m.config.Batch, m.config.MaxDatagram)}
}

func (m *memory) buffers() (recv, send int) { return maxQueued * m.config.MaxDatagram, 0 }

func (m *memory) offload() (gso, gro bool) { return false, false }

func (m *memory) dropped() uint64 { return 0 }

func (m *memory) close() error {
	if m.shut() {
		m.network.remove(m)
	}
	return nil
}

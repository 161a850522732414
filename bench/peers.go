package main

import (
	"context"
	"errors"
	"net/netip"
	"os/exec"
	"slices"
	"time"
)

// Link is a connection as a work sees it: messages in, messages out.
type Link interface {
	// Send sends one message. It may block, or return errBusy when there is no room now.
	// One goroutine at a time calls it. The bytes are the caller's again when it
	// returns.
	Send(b []byte) error
	Close() error
}

// errBusy: there is no room for a message now.
var errBusy = errors.New("busy")

// Server is a listening peer.
type Server interface {
	Addr() netip.AddrPort
	Close() error
}

// Pusher is a Server that sends without being asked.
type Pusher interface {
	Server
	// Push sends b to each client whose turn it is: of every so many clients the one with
	// that number. It returns to how many.
	Push(b []byte, turn, of int) (int, error)
}

// Peer is a protocol in one of its modes. To add one, write a file with a value of this type
// and name it in peers: Listen and Dial are enough for W1, W2 and W3.
type Peer struct {
	Name     string
	Settings string // in a few words, for the report
	Version  func() string
	Ours     bool

	// Reliable and Ordered say what it promises of messages: W1 asks for the first, W2 for
	// both. Crowd has it take part in W3, Room in W4; with Only it takes part in those
	// alone. TCP says what the bad network of W1 has to pass on.
	Reliable, Ordered, Crowd, Only, TCP bool
	Room                                *Room

	// Gather has it take part in W2 alone: the sender writes when it has messages of so many bytes.
	Gather int

	// Feel has it take part in W5, and Narrow in W6. Each is the name of the dialect of our game server, or that of a peer that is a Program.
	Feel, Narrow string

	// Down says that messages go down only: the server, which is a Pusher, sends by its
	// own clock, and Join gives its clients. Acks says that messages are acknowledged by
	// datagrams of their own, so that bare UDP does less.
	Down, Acks bool

	// Missing says why it cannot run here, "" if it can.
	Missing func() string

	// Listen starts a server at a port of its own on loopback. take is called with each
	// message, for one connection by one goroutine at a time, and may call Send of the
	// Link before it returns.
	Listen func(take func(l Link, b []byte)) (Server, error)

	// Dial connects. take is called with each message, by one goroutine at a time.
	Dial func(ctx context.Context, addr netip.AddrPort, take func(b []byte)) (Link, error)

	// Join, if set, begins a light client, of which one thread can drive thousands: see
	// Member. Without it W3 uses Dial.
	Join func(now time.Time, addr netip.AddrPort) (Member, error)

	// Program, if set, stands in for all of these: the peer is a program of its own, that
	// obeys what roles.go and work_*.go ask.
	Program func(role string) (*exec.Cmd, error)
}

// peers are all that there are, in the order of the report.
var peers = slices.Concat(replicaPeers, relayPeers, stampPeers, duplexPeers, udpPeers, udpBatchedPeers,
	tcpPeers, quicGoPeers, xQUICPeers, enetPeers, colyseusPeers, feelPeers, enetFeelPeers, narrowPeers)

func peerNamed(name string) (Peer, bool) {
	i := slices.IndexFunc(peers, func(p Peer) bool { return p.Name == name })
	if i < 0 {
		return Peer{}, false
	}
	return peers[i], true
}

// loopback is where all servers listen, but for those in a network of their own.
var loopback = "127.0.0.1:0"

func addrOf(a interface{ String() string }) netip.AddrPort {
	return netip.MustParseAddrPort(a.String())
}

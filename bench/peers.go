package main

import (
	"context"
	"errors"
	"net/netip"
	"slices"
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

// Peer is a protocol in one of its modes.
type Peer struct {
	Name     string
	Settings string // in a few words, for the report
	Ours     bool

	// Reliable and Ordered say what it promises of messages: some works ask for it.
	Reliable, Ordered bool

	// Missing says why it cannot run here, "" if it can.
	Missing func() string

	// Listen starts a server at a port of its own on loopback. take is called with each
	// message, for one Link by one goroutine at a time, and may call Send of that Link.
	Listen func(take func(l Link, b []byte)) (Server, error)

	// Dial connects. take is called with each message, by one goroutine at a time.
	Dial func(ctx context.Context, addr netip.AddrPort, take func(b []byte)) (Link, error)
}

// peers are all that there are, in the order of the report.
var peers = slices.Concat(replicaPeers, udpPeers, tcpPeers, quicGoPeers, xQUICPeers)

func peerNamed(name string) (Peer, bool) {
	i := slices.IndexFunc(peers, func(p Peer) bool { return p.Name == name })
	if i < 0 {
		return Peer{}, false
	}
	return peers[i], true
}

// loopback is where all servers listen.
const loopback = "127.0.0.1:0"

func addrOf(a interface{ String() string }) netip.AddrPort {
	return netip.MustParseAddrPort(a.String())
}

package main

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"parley/internal/shell"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
)

var relayPeers = []Peer{
	relayPeer("relay", "packages to the server, reliable and unordered", relay.Unordered),
	relayPeer("relay unreliable", "packages to the server", relay.Unreliable),
}

// relayPeer has packages go to the server, which answers; the room is open.
func relayPeer(name, settings string, mode relay.Mode) Peer {
	return Peer{
		Name: name, Settings: settings, Ours: true, Reliable: mode.Reliable(), Acks: mode.Reliable(), Crowd: true,
		Listen: func(take func(Link, []byte)) (Server, error) {
			link := &relayPeerLink{mode: mode}                           // used by one event at a time, on the loop
			crowd := relay.NewOpenLobby(relay.OpenConfig{JoinBurst: -1}) // all come from one address
			s, err := relay.Listen(loopback, relay.Config{MaxPeers: serverMost, Lobby: crowd}, func(p *relay.Peer, ev relay.Event) {
				if ev.Kind == relay.EventPackage {
					link.Peer = p
					take(link, ev.Package.Payload)
				}
			})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		Dial: func(ctx context.Context, addr netip.AddrPort, take func([]byte)) (Link, error) {
			c, err := relay.Dial(ctx, addr.String(), relay.Config{})
			if err != nil {
				return nil, err
			}
			go func() {
				for ev := range c.Events() {
					if ev.Kind == relay.EventPackage {
						take(ev.Package.Payload)
					}
				}
			}()
			return relayClient{c, mode}, nil
		},
		Join: func(now time.Time, addr netip.AddrPort) (Member, error) { return joinRelay(now, addr, mode) },
	}
}

// relayPeerLink is the server's side; it is used on the loop.
type relayPeerLink struct {
	*relay.Peer
	mode relay.Mode
}

func (p *relayPeerLink) Send(b []byte) error { return relayBusyOr(p.Peer.Send(p.mode, b)) }
func (p *relayPeerLink) Close() error {
	p.Peer.Close("")
	return nil
}

type relayClient struct {
	*relay.Client
	mode relay.Mode
}

func (c relayClient) Send(b []byte) error {
	return relayBusyOr(c.Client.Send(c.mode, relay.ToServer, b))
}

func (c relayClient) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return c.Client.Close(ctx)
}

func relayBusyOr(err error) error {
	if errors.Is(err, relay.ErrBacklogFull) {
		return errBusy
	}
	return err
}

// relayShared is what the light clients of a process share.
var relayShared = &relaycore.Shared{Rand: shell.Rand()}

func joinRelay(now time.Time, addr netip.AddrPort, mode relay.Mode) (Member, error) {
	e, err := relaycore.NewClient(now, addr, relay.Config{}, relayShared)
	if err != nil {
		return nil, err
	}
	return newDatagramMember(addr, endpoint{
		core:  e,
		ready: func() bool { return e.State() == relaycore.StateOpen },
		send:  func(now time.Time, b []byte) error { return e.Send(now, mode, relay.ToServer, b) },
		poll: func(take func([]byte)) error {
			for ev, ok := e.PollEvent(); ok; ev, ok = e.PollEvent() {
				switch ev.Kind {
				case relay.EventPackage:
					take(ev.Package.Payload)
				case relay.EventLeft:
					return ev.Close
				}
			}
			return nil
		},
	})
}

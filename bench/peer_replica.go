package main

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"parley/internal/shell"
	"parley/protocol/replica"
	"parley/protocol/replica/core"
)

var replicaPeers = []Peer{
	replicaPeer("replica ordered", replica.Ordered),
	replicaPeer("replica unordered", replica.Reliable),
	replicaPeer("replica unreliable", replica.Unreliable),
	{Name: "replica entities", Settings: "an entity an object, x and y in one variable, Replicate in each tick", Ours: true, Only: true, Room: replicaRoom},
	{Name: "replica entities q", Settings: "the same, x and y in steps of 1/8: 16 bits each", Ours: true, Only: true, Room: replicaRoomQ},
	{Name: "replica entities ws", Settings: "replica entities over WebSocket, as browsers come", Ours: true, Only: true, TCP: true, Room: replicaRoomWS},
	{Name: "replica entities ws q", Settings: "replica entities q over WebSocket", Ours: true, Only: true, TCP: true, Room: replicaRoomWSQ},
}

// messageName is empty, as every message carries it: the game has one kind of message.
const messageName = ""

// serverMost is how many clients a server lets in.
const serverMost = 8192

func replicaPeer(name string, mode replica.Mode) Peer {
	return Peer{
		Name: name, Settings: "zero Config, messages without a name", Ours: true, Crowd: mode != replica.Reliable,
		Reliable: mode != replica.Unreliable, Acks: mode != replica.Unreliable, Ordered: mode == replica.Ordered,
		Listen: func(take func(Link, []byte)) (Server, error) {
			link := &replicaConn{mode: mode} // used by one event at a time, on the loop
			s, err := replica.Listen(loopback, replica.Config{MaxConns: serverMost}, func(c *replica.Conn, ev replica.Event) {
				if ev.Kind == replica.EventMessage {
					link.Conn = c
					take(link, ev.Data)
				}
			})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		Dial: func(ctx context.Context, addr netip.AddrPort, take func([]byte)) (Link, error) {
			c, err := replica.Dial(ctx, addr.String(), replica.Config{})
			if err != nil {
				return nil, err
			}
			go func() {
				for ev := range c.Events() {
					if ev.Kind == replica.EventMessage {
						take(ev.Data)
					}
				}
			}()
			return replicaClient{c, mode}, nil
		},
		Join: func(now time.Time, addr netip.AddrPort) (Member, error) { return joinReplica(now, addr, mode) },
	}
}

// replicaConn is the server's side; it is used on the loop.
type replicaConn struct {
	*replica.Conn
	mode replica.Mode
}

func (c *replicaConn) Send(b []byte) error { return busyOr(c.Conn.Send(c.mode, messageName, b)) }
func (c *replicaConn) Close() error {
	c.Conn.Close("")
	return nil
}

type replicaClient struct {
	*replica.Client
	mode replica.Mode
}

// Send waits while the server takes too little.
func (c replicaClient) Send(b []byte) error {
	return c.Client.SendWait(context.Background(), c.mode, messageName, b)
}

func (c replicaClient) Close() error { return c.Client.Close(context.Background()) }

func busyOr(err error) error {
	if errors.Is(err, replica.ErrWindowFull) {
		return errBusy
	}
	return err
}

// replicaShared is what the light clients of a process share.
var replicaShared = &core.Shared{Rand: shell.Rand()}

func joinReplica(now time.Time, addr netip.AddrPort, mode replica.Mode) (Member, error) {
	e := core.NewClient(now, addr, replica.Config{}, replicaShared)
	return newDatagramMember(addr, endpoint{
		core:  e,
		ready: func() bool { return e.State() == core.StateOpen },
		send:  func(now time.Time, b []byte) error { return e.Send(now, mode, messageName, b) },
		poll: func(take func([]byte)) error {
			for ev, ok := e.PollEvent(); ok; ev, ok = e.PollEvent() {
				switch ev.Kind {
				case replica.EventMessage:
					take(ev.Data)
				case replica.EventClosed:
					return ev.Close
				}
			}
			return nil
		},
	})
}

package main

import (
	"context"
	"errors"
	"net/netip"

	"parley/protocol/replica"
)

var replicaPeers = []Peer{
	replicaPeer("replica ordered", replica.Ordered),
	replicaPeer("replica unordered", replica.Reliable),
	replicaPeer("replica unreliable", replica.Unreliable),
}

// messageName is short, as every message carries it.
const messageName = "m"

func replicaPeer(name string, mode replica.Mode) Peer {
	return Peer{
		Name: name, Settings: "zero Config", Ours: true,
		Reliable: mode != replica.Unreliable, Ordered: mode == replica.Ordered,
		Listen: func(take func(Link, []byte)) (Server, error) {
			links := map[*replica.Conn]Link{} // owned by the loop
			s, err := replica.Listen(loopback, replica.Config{MaxConns: 20_000}, func(c *replica.Conn, ev replica.Event) {
				switch ev.Kind {
				case replica.EventConnected:
					links[c] = replicaConn{c, mode}
				case replica.EventClosed:
					delete(links, c)
				case replica.EventMessage:
					take(links[c], ev.Data)
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
	}
}

// replicaConn is the server's side; it is used on the loop.
type replicaConn struct {
	*replica.Conn
	mode replica.Mode
}

func (c replicaConn) Send(b []byte) error { return busyOr(c.Conn.Send(c.mode, messageName, b)) }
func (c replicaConn) Close() error {
	c.Conn.Close("")
	return nil
}

type replicaClient struct {
	*replica.Client
	mode replica.Mode
}

func (c replicaClient) Send(b []byte) error { return busyOr(c.Client.Send(c.mode, messageName, b)) }
func (c replicaClient) Close() error        { return c.Client.Close(context.Background()) }

func busyOr(err error) error {
	if errors.Is(err, replica.ErrWindowFull) {
		return errBusy
	}
	return err
}

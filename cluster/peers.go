package cluster

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"parley/cluster/core"
)

// peerWay is the way of messages between participants of a room on different nodes.
type peerWay struct {
	conn *nats.Conn
	sub  *nats.Subscription
	to   string
}

// Peers begins to hear what the room's participants at other nodes say to those here. hear is called from a goroutine of the node, with messages
// of this node too, and must not keep b.
func (n *Node) Peers(room string, hear func(b []byte)) (core.Peers, error) {
	key, err := token(room)
	if err != nil {
		return nil, err
	}
	p := &peerWay{conn: n.conn, to: "parley.peers." + key}
	if p.sub, err = n.conn.Subscribe(p.to, func(m *nats.Msg) { hear(m.Data) }); err != nil {
		return nil, fmt.Errorf("cluster: room %q: %w", room, err)
	}
	if err := p.sub.SetPendingLimits(maxPeers, maxPeersBytes); err != nil {
		return nil, fmt.Errorf("cluster: room %q: %w", room, err)
	}
	return p, nil
}

// Tell sends a message to all nodes. It may be lost.
func (p *peerWay) Tell(b []byte) { _ = p.conn.Publish(p.to, b) } // what is reliable comes again

// Close ends it.
func (p *peerWay) Close() { _ = p.sub.Unsubscribe() } // the connection may be closed

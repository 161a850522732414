package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"parley/cluster/core"
)

// SilentError says which nodes have not answered in time.
type SilentError = core.SilentError

// ErrNoNode means that no such node lives.
var ErrNoNode = errors.New("cluster: no such node lives")

// Answer has fn answer what nodes, this one among them, ask about a topic. At most maxAnswering calls run at a time; of more the asker hears
// nothing. The context ends when the node is closed.
func (n *Node) Answer(topic string, fn func(ctx context.Context, body []byte) []byte) error {
	name, err := token(topic)
	if err != nil {
		return err
	}
	n.mu.Lock()
	taken := n.answers[topic] != nil
	n.answers[topic] = fn
	n.mu.Unlock()
	if taken {
		return fmt.Errorf("cluster: topic %q has an answer already", topic)
	}
	running := make(chan struct{}, maxAnswering)
	for _, subject := range []string{"parley.ask." + name, "parley.ask." + name + "." + NodeName(n.id)} {
		_, err := n.conn.Subscribe(subject, func(m *nats.Msg) {
			select {
			case running <- struct{}{}:
			default:
				return
			}
			n.spawn(func() {
				defer func() { <-running }()
				n.reply(m.Reply, fn(n.ctx, m.Data))
			})
		})
		if err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	if n.conn.IsConnected() {
		_ = n.conn.FlushTimeout(leaveTime) // who asks after this call should not ask in vain
	}
	return nil
}

// reply sends an answer in parts.
//
//	part    node u64, 1 if more come u8, bytes
func (n *Node) reply(to string, answer []byte) {
	for more := true; more; {
		part := answer[:min(len(answer), maxPart)]
		answer = answer[len(part):]
		more = len(answer) > 0
		b := binary.LittleEndian.AppendUint64(make([]byte, 0, 9+len(part)), n.id)
		b = append(b, 0)
		if more {
			b[8] = 1
		}
		if n.conn.Publish(to, append(b, part...)) != nil {
			return
		}
	}
}

// Ask asks all nodes that live about a topic. It returns what each has answered by its ID. If some have not when the context ends, or askTime
// is over, the error is a *SilentError, and the answers of the others are returned with it.
func (n *Node) Ask(ctx context.Context, topic string, body []byte) (map[uint64][]byte, error) {
	var ids []uint64
	for _, info := range n.Nodes() {
		ids = append(ids, info.ID)
	}
	return n.ask(ctx, topic, "", body, ids)
}

// AskNode asks one node.
func (n *Node) AskNode(ctx context.Context, id uint64, topic string, body []byte) ([]byte, error) {
	for _, info := range n.Nodes() {
		if info.ID == id {
			answers, err := n.ask(ctx, topic, "."+NodeName(id), body, []uint64{id})
			return answers[id], err
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrNoNode, NodeName(id))
}

func (n *Node) ask(ctx context.Context, topic, which string, body []byte, ids []uint64) (map[uint64][]byte, error) {
	name, err := token(topic)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	parts := make(chan *nats.Msg, maxTold)
	inbox := n.conn.NewInbox()
	sub, err := n.conn.ChanSubscribe(inbox, parts)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	defer sub.Unsubscribe()
	waits := map[uint64]bool{}
	for _, id := range ids {
		waits[id] = true
	}
	own := n.askSelf(ctx, topic, body, waits[n.id])
	if err := n.conn.PublishRequest("parley.ask."+name+which, inbox, body); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	answers, begun := map[uint64][]byte{}, map[uint64][]byte{}
	for len(waits) > 0 {
		select {
		case b := <-own:
			delete(waits, n.id)
			answers[n.id], own = b, nil
		case m := <-parts:
			if len(m.Data) < 9 {
				continue
			}
			id := binary.LittleEndian.Uint64(m.Data)
			if len(begun[id])+len(m.Data) > maxAnswer {
				return answers, fmt.Errorf("cluster: node %s answers more than %d bytes about %q", NodeName(id), maxAnswer, topic)
			}
			if begun[id] = append(begun[id], m.Data[9:]...); m.Data[8] == 0 {
				delete(waits, id)
				answers[id] = begun[id]
			}
		case <-ctx.Done():
			silent := &SilentError{}
			for _, id := range ids {
				if waits[id] {
					silent.Nodes = append(silent.Nodes, id)
				}
			}
			return answers, silent
		}
	}
	return answers, nil
}

// askSelf asks this node, which does not hear what it sends.
func (n *Node) askSelf(ctx context.Context, topic string, body []byte, wanted bool) <-chan []byte {
	n.mu.Lock()
	fn := n.answers[topic]
	n.mu.Unlock()
	if fn == nil || !wanted {
		return nil
	}
	own := make(chan []byte, 1)
	n.spawn(func() { own <- fn(ctx, body) })
	return own
}

package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"parley/cluster/core"
)

// SpentError says that a ticket has let somebody in already.
type SpentError = core.SpentError

// A Token is that of a session, as the store knows it.
type Token = core.Token

func spentKey(serial [16]byte) string { return "spent-" + hex.EncodeToString(serial[:]) }
func tokenKey(hash [32]byte) string   { return "token-" + hex.EncodeToString(hash[:]) }

// Spend notes that a ticket lets a player into a room: once in the whole cluster, until it expires. A zero time is never. The error is a
// *SpentError if it has been spent.
func (n *Node) Spend(ctx context.Context, serial [16]byte, expires time.Time, room string) error {
	if _, err := token(room); err != nil {
		return err
	}
	value := binary.LittleEndian.AppendUint64(nil, n.id)
	value = append(value, make([]byte, 8)...)
	rand.Read(value[8:]) // one call of this node is told from another
	value = append(value, room...)
	ttl := time.Duration(0)
	if !expires.IsZero() {
		ttl = max(time.Until(expires), 0).Truncate(time.Second) + spentLonger
	}
	there, err := n.create(ctx, n.entry, spentKey(serial), value, ttl)
	if err == nil && there != nil {
		return spentOf(there)
	}
	return err
}

func spentOf(value []byte) *SpentError {
	if len(value) < 16 {
		return &SpentError{}
	}
	return &SpentError{Room: string(value[16:]), Node: binary.LittleEndian.Uint64(value)}
}

// PutTokens notes in which rooms the sessions of tokens are, of many in the time of one. Call it before the players are told the tokens.
func (n *Node) PutTokens(ctx context.Context, list []Token) error {
	for _, t := range list {
		if _, err := token(t.Room); err != nil {
			return err
		}
	}
	for len(list) > 0 {
		some := list[:min(len(list), maxTokens)]
		list = list[len(some):]
		if err := n.settle(ctx, fmt.Sprintf("keep %d tokens", len(some)), func(ctx context.Context) error { return n.putAll(ctx, some) }); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) putAll(ctx context.Context, list []Token) error {
	acks := make([]jetstream.PubAckFuture, 0, len(list))
	for _, t := range list {
		ack, err := n.js.PublishMsgAsync(putMsg("parley-entry", tokenKey(t.Hash), []byte(t.Room), t.TTL))
		if err != nil {
			return err
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// putMsg is the message that puts a value into a bucket. The bucket's own call knows no time to live.
func putMsg(bucket, key string, value []byte, ttl time.Duration) *nats.Msg {
	m := &nats.Msg{Subject: "$KV." + bucket + "." + key, Data: value, Header: nats.Header{}}
	if ttl > 0 {
		ttl = max(ttl.Round(time.Second), time.Second) // it counts in seconds
		m.Header.Set(jetstream.MsgTTLHeader, ttl.String())
	}
	return m
}

// RoomOfToken returns in which room the session of a token is.
func (n *Node) RoomOfToken(ctx context.Context, hash [32]byte) (room string, ok bool, err error) {
	e, err := n.get(ctx, n.entry, tokenKey(hash))
	if err != nil || e == nil {
		return "", false, err
	}
	return string(e.Value()), true, nil
}

package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
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
// *SpentError if it has been spent. After any other error, and if the player does not come in after all, call Unspend.
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

// Unspend lets a ticket be used again that this node has spent. That of another node stays: the error is a *SpentError.
func (n *Node) Unspend(ctx context.Context, serial [16]byte) error {
	key := spentKey(serial)
	var other *SpentError
	err := n.settle(ctx, "remove "+key, func(ctx context.Context) error {
		e, err := n.entry.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if of := spentOf(e.Value()); of.Node != n.id {
			other = of
			return nil
		}
		return n.entry.Purge(ctx, key, jetstream.LastRevision(e.Revision()), jetstream.PurgeTTL(markerTime))
	})
	if err == nil && other != nil {
		return other
	}
	return err
}

// PutToken notes in which room the session of a token is. Call it before the player is told the token.
func (n *Node) PutToken(ctx context.Context, hash [32]byte, room string, ttl time.Duration) error {
	return n.PutTokens(ctx, []Token{{Hash: hash, Room: room, TTL: ttl}})
}

// PutTokens notes many tokens in the time of one.
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

// ForgetToken forgets a token whose session is over, or that another has replaced.
func (n *Node) ForgetToken(ctx context.Context, hash [32]byte) error {
	return n.remove(ctx, n.entry, tokenKey(hash))
}

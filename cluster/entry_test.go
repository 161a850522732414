package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/cluster/clustertest"
	"parley/internal/patient"
)

// TestATicketIsSpentOnce has two nodes spend the same tickets at the same time: each lets in one.
func TestATicketIsSpentOnce(t *testing.T) {
	t.Parallel()
	defer patient.End().Stop()
	url := clustertest.NATS(t)
	nodes := []*Node{newNode(t, Config{URLs: []string{url}}), newNode(t, Config{URLs: []string{url}})}
	ctx := t.Context()
	const tickets = 50
	var work sync.WaitGroup
	var mu sync.Mutex
	won := map[byte][]*Node{}
	for i := range byte(tickets) {
		for _, n := range nodes {
			work.Go(func() {
				err := n.Spend(ctx, [16]byte{i}, time.Now().Add(time.Hour), "main")
				var spent *SpentError
				switch {
				case err == nil:
					mu.Lock()
					won[i] = append(won[i], n)
					mu.Unlock()
				case !errors.As(err, &spent) || spent.Room != "main":
					t.Errorf("ticket %d: %v", i, err)
				}
			})
		}
	}
	work.Wait()
	for i := range byte(tickets) {
		if len(won[i]) != 1 {
			t.Errorf("ticket %d let in %d", i, len(won[i]))
		}
	}
	first, other := won[0][0], nodes[0]
	if first == other {
		other = nodes[1]
	}
	var spent *SpentError
	if err := other.Unspend(ctx, [16]byte{0}); !errors.As(err, &spent) || spent.Node != first.ID() {
		t.Errorf("the ticket of another node is free again: %v", err)
	}
	for _, err := range []error{first.Unspend(ctx, [16]byte{0}), first.Unspend(ctx, [16]byte{0}), other.Spend(ctx, [16]byte{0}, time.Time{}, "b")} {
		if err != nil {
			t.Error(err)
		}
	}
	if err := first.Spend(ctx, [16]byte{0}, time.Time{}, "c"); !errors.As(err, &spent) || spent.Room != "b" {
		t.Errorf("spent in room b: %v", err)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a, b := newNode(t, Config{URLs: []string{url}}), newNode(t, Config{URLs: []string{url}})
	ctx := t.Context()
	list := make([]Token, 600)
	for i := range list {
		list[i] = Token{Hash: [32]byte{byte(i), byte(i >> 8)}, Room: fmt.Sprint("room-", i), TTL: time.Hour}
	}
	began := time.Now()
	if err := a.PutTokens(ctx, list); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d tokens took %v", len(list), time.Since(began))
	for i := 0; i < len(list); i += 37 {
		if room, ok, err := b.RoomOfToken(ctx, list[i].Hash); err != nil || !ok || room != list[i].Room {
			t.Errorf("token %d: %q, %v, %v", i, room, ok, err)
		}
	}
	brief, gone := [32]byte{1, 2, 3}, list[1].Hash
	if err := errors.Join(b.ForgetToken(ctx, gone), b.ForgetToken(ctx, [32]byte{9, 9, 9}), a.PutToken(ctx, brief, "main", time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := a.RoomOfToken(ctx, gone); ok || err != nil {
		t.Errorf("it is forgotten: %v, %v", ok, err)
	}
	if _, ok, err := b.RoomOfToken(ctx, brief); !ok || err != nil {
		t.Errorf("it lives for a second: %v, %v", ok, err)
	}
	until(t, "the end of a token", func() bool {
		_, ok, err := b.RoomOfToken(ctx, brief)
		return err == nil && !ok
	})
	if err := a.PutToken(ctx, brief, "", time.Second); !errors.Is(err, ErrName) {
		t.Errorf("a token of no room: %v", err)
	}
}

// TestWithoutAStore asks a node that is alone among three: each call ends, and says why.
func TestWithoutAStore(t *testing.T) {
	t.Parallel()
	addrs := freePorts(t, 3)
	n, err := Start(Config{Name: "test", Listen: addrs[0], Peers: addrs[1:], Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, tokens := n.RoomOfToken(ctx, [32]byte{})
	_, rooms := n.Rooms(ctx)
	_, created := n.CreateRoom(ctx, "a", nil)
	for _, err := range []error{n.Spend(ctx, [16]byte{}, time.Time{}, "main"), tokens, rooms, created, n.PutBan(ctx, "a", nil, time.Time{})} {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("alone: %v", err)
		}
	}
	if list := n.Nodes(); len(list) != 0 {
		t.Errorf("nodes: %v", list)
	}
}

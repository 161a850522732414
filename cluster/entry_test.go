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
	var spent *SpentError
	for _, n := range nodes {
		if err := n.Spend(ctx, [16]byte{0}, time.Time{}, "b"); !errors.As(err, &spent) || spent.Node != won[0][0].ID() {
			t.Errorf("a spent ticket: %v", err)
		}
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
	brief := Token{Hash: [32]byte{1, 2, 3}, Room: "main", TTL: 3 * time.Second}
	began = time.Now()
	if err := a.PutTokens(ctx, []Token{brief}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := b.RoomOfToken(ctx, brief.Hash); err != nil || !ok && time.Since(began) < brief.TTL {
		t.Errorf("a token that lives for three seconds, after %v: %v, %v", time.Since(began), ok, err)
	}
	until(t, "the end of a token", func() bool {
		_, ok, err := b.RoomOfToken(ctx, brief.Hash)
		return err == nil && !ok
	})
	if err := a.PutTokens(ctx, []Token{{Hash: brief.Hash, TTL: time.Second}}); !errors.Is(err, ErrName) {
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
	_, _, rooms := n.RoomSettings(ctx, "a")
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

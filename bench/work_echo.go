package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// W1: reliable 64-byte messages at 60 Hz, echoed over a path that delays and loses.

// echoWith is what a client does: so many messages, and how often.
type echoWith struct {
	Peer     string         `json:"peer"`
	Addr     netip.AddrPort `json:"addr"`
	Size     int            `json:"size"`
	Messages int            `json:"messages"`
	Every    time.Duration  `json:"every"`
	Patience time.Duration  `json:"patience"` // for the last ones
}

// echoed is what came back, and when.
type echoed struct {
	Delivered int             `json:"delivered"`
	Twice     int             `json:"twice"`
	Latencies []time.Duration `json:"latencies"`
}

func runEcho(p Peer, w echoWith) (echoed, error) {
	var mu sync.Mutex
	var r echoed
	seen := make([]bool, w.Messages)
	sent := make([]time.Time, w.Messages)
	all := make(chan struct{})
	take := func(b []byte) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		i := binary.BigEndian.Uint64(b)
		if i >= uint64(w.Messages) {
			return // it was to warm up
		}
		if seen[i] {
			r.Twice++
			return
		}
		seen[i] = true
		r.Latencies = append(r.Latencies, now.Sub(sent[i]))
		if r.Delivered++; r.Delivered == w.Messages {
			close(all)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	link, err := p.Dial(ctx, w.Addr, take)
	if err != nil {
		return r, fmt.Errorf("dial: %w", err)
	}
	defer link.Close()
	msg := make([]byte, w.Size)
	next := time.Now()
	const warm = 120 // so that all know the path
	for i := -warm; i < w.Messages; i++ {
		next = next.Add(w.Every)
		time.Sleep(time.Until(next))
		binary.BigEndian.PutUint64(msg, uint64(i))
		if i >= 0 {
			mu.Lock()
			sent[i] = time.Now()
			mu.Unlock()
		}
		if err := sendNow(link, msg); err != nil {
			return r, fmt.Errorf("message %d: %w", i, err)
		}
	}
	select {
	case <-all:
	case <-time.After(w.Patience):
	}
	mu.Lock()
	defer mu.Unlock()
	return r, nil
}

// sendNow sends a message, waiting for room if there is none.
func sendNow(l Link, b []byte) error {
	for {
		err := l.Send(b)
		if err != errBusy {
			return err
		}
		time.Sleep(100 * time.Microsecond)
	}
}

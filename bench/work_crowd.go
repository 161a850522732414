package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// W3: many clients, 32 bytes up and 200 down at 20 Hz.

type crowdWith struct {
	Peer    string         `json:"peer"`
	Addr    netip.AddrPort `json:"addr"`
	Clients int            `json:"clients"`
	Size    int            `json:"size"`
	Every   time.Duration  `json:"every"`
	For     time.Duration  `json:"for"`
}

type crowded struct {
	Sent      int             `json:"sent"`
	Got       int             `json:"got"`
	Latencies []time.Duration `json:"latencies"` // a sample
}

// crowd keeps its connections between two questions, so that the server can be looked at
// meanwhile.
var crowd struct {
	sync.Mutex
	links []Link
	got   int
	late  []time.Duration
}

// runCrowd connects the first time that it is called, and sends for a while each time.
func runCrowd(p Peer, w crowdWith) (r crowded, err error) {
	if crowd.links == nil {
		if err := gather(p, w); err != nil {
			return r, err
		}
	}
	if w.For == 0 {
		return r, nil
	}
	crowd.Lock()
	crowd.got, crowd.late = 0, nil
	crowd.Unlock()
	msg := make([]byte, w.Size)
	step := w.Every / time.Duration(len(crowd.links))
	begin := time.Now()
	for due := time.Duration(0); due < w.For; {
		for time.Since(begin) >= due && due < w.For {
			binary.BigEndian.PutUint64(msg, uint64(time.Now().UnixNano()))
			if crowd.links[r.Sent%len(crowd.links)].Send(msg) == nil {
				r.Sent++
			}
			due += step
		}
		time.Sleep(time.Until(begin.Add(due)))
	}
	for range 100 { // what is under way
		crowd.Lock()
		done := crowd.got >= r.Sent
		crowd.Unlock()
		if done {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	crowd.Lock()
	defer crowd.Unlock()
	r.Got, r.Latencies = crowd.got, crowd.late
	return r, nil
}

// gather connects all clients, a few at a time.
func gather(p Peer, w crowdWith) error {
	take := func(b []byte) {
		now := time.Now().UnixNano()
		crowd.Lock()
		defer crowd.Unlock()
		if crowd.got++; crowd.got%7 == 0 {
			crowd.late = append(crowd.late, time.Duration(now-int64(binary.BigEndian.Uint64(b))))
		}
	}
	var wg sync.WaitGroup
	room := make(chan struct{}, 32)
	var failed error
	for i := range w.Clients {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			l, err := p.Dial(ctx, w.Addr, take)
			crowd.Lock()
			defer crowd.Unlock()
			if err != nil {
				failed = fmt.Errorf("client %d: %w", i, err)
				return
			}
			crowd.links = append(crowd.links, l)
		})
	}
	wg.Wait()
	return failed
}

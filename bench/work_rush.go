package main

import (
	"context"
	"net/netip"
	"runtime"
	"time"
)

// W2: one connection, reliable ordered 64-byte messages as fast as they go.

type rushWith struct {
	Peer string         `json:"peer"`
	Addr netip.AddrPort `json:"addr"`
	Size int            `json:"size"`
	For  time.Duration  `json:"for"`
}

type rushed struct {
	Sent uint64 `json:"sent"`
}

// runRush sends until the time is up. That all arrived is asked of the server.
func runRush(p Peer, w rushWith) (r rushed, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	link, err := p.Dial(ctx, w.Addr, func([]byte) {})
	if err != nil {
		return r, err
	}
	defer link.Close()
	msg := make([]byte, w.Size)
	end := time.Now().Add(w.For)
	for {
		for range 64 { // the clock is dear
			switch err := link.Send(msg); err {
			case nil:
				r.Sent++
			case errBusy:
				runtime.Gosched()
			default:
				return r, err
			}
		}
		if time.Now().After(end) {
			return r, nil
		}
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"sync/atomic"

	"parley/internal/impair"
	"parley/simnet"
)

// roles are what a child may be.
var roles = map[string]func() map[string]deed{
	"server": serverRole,
	"impair": impairRole,
	"client": clientRole,
}

// serveWith says which server a child is to be.
type serveWith struct {
	Peer  string `json:"peer"`
	Reply int    `json:"reply"` // bytes of each answer; 0 echoes, negative answers nothing
}

// serverRole answers messages.
func serverRole() map[string]deed {
	var server Server
	var got atomic.Uint64
	return map[string]deed{
		"listen": func(with json.RawMessage) (any, error) {
			w, err := decode[serveWith](with)
			if err != nil {
				return nil, err
			}
			p, ok := peerNamed(w.Peer)
			if !ok {
				return nil, fmt.Errorf("no peer %q", w.Peer)
			}
			answer := make([]byte, max(w.Reply, 0))
			server, err = p.Listen(func(l Link, b []byte) {
				got.Add(1)
				switch {
				case w.Reply == 0:
					l.Send(b)
				case w.Reply > 0:
					copy(answer, b)
					l.Send(answer)
				}
			})
			if err != nil {
				return nil, err
			}
			return server.Addr(), nil
		},
		"count": func(json.RawMessage) (any, error) { return got.Load(), nil },
	}
}

// impairWith says which network a child is to be.
type impairWith struct {
	To      netip.AddrPort `json:"to"`
	TCP     bool           `json:"tcp"`
	Profile string         `json:"profile"`
	Seed    uint64         `json:"seed"`
}

// impaired is what a bad network did.
type impaired struct {
	Bytes   uint64 `json:"bytes"` // payload that was sent into it, both ways
	Packets uint64 `json:"packets"`
	LateP99 int64  `json:"late_p99_us"`
	LateMax int64  `json:"late_max_us"`
}

// impairRole stands between.
func impairRole() map[string]deed {
	var proxy *impair.Proxy
	return map[string]deed{
		"listen": func(with json.RawMessage) (any, error) {
			w, err := decode[impairWith](with)
			if err != nil {
				return nil, err
			}
			p, err := simnet.ParseProfile(w.Profile)
			if err != nil {
				return nil, err
			}
			proxy, err = impair.Start(impair.Config{
				Listen: loopback, Target: w.To.String(), UDP: !w.TCP, TCP: w.TCP, Up: p, Down: p, Seed: w.Seed,
			})
			if err != nil {
				return nil, err
			}
			return proxy.Addr(), nil
		},
		"stats": func(json.RawMessage) (any, error) {
			s := proxy.Stats()
			return impaired{
				Bytes: s.Up.SentBytes + s.Down.SentBytes, Packets: s.Up.Sent + s.Down.Sent,
				LateP99: s.Late.Quantile(.99).Microseconds(), LateMax: s.Late.Max().Microseconds(),
			}, nil
		},
	}
}

// clientRole is all works from their clients' side.
func clientRole() map[string]deed {
	return map[string]deed{
		"echo":  func(with json.RawMessage) (any, error) { return run(with, runEcho) },
		"rush":  func(with json.RawMessage) (any, error) { return run(with, runRush) },
		"crowd": func(with json.RawMessage) (any, error) { return run(with, runCrowd) },
	}
}

// run decodes what a work is done with, and does it.
func run[W, R any](with json.RawMessage, work func(p Peer, w W) (R, error)) (any, error) {
	w, err := decode[W](with)
	if err != nil {
		return nil, err
	}
	var name struct {
		Peer string `json:"peer"`
	}
	if err := json.Unmarshal(with, &name); err != nil {
		return nil, err
	}
	p, ok := peerNamed(name.Peer)
	if !ok {
		return nil, fmt.Errorf("no peer %q", name.Peer)
	}
	return work(p, w)
}

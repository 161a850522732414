package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"parley/program/impair"
	"parley/simnet"
)

// roles are what a child may be. A work adds its own in its file.
var roles = map[string]func() map[string]deed{
	"server":       serverRole,
	"impair":       impairRole,
	"client":       clientRole,
	"room":         roomRole,
	"room clients": roomClientsRole,
	"feel server":  feelServerRole,
	"feel players": feelPlayersRole,

	"narrow server": narrowServerRole,
	"narrow link":   narrowLinkRole,
	"narrow player": narrowPlayerRole,
}

// serveWith says which server a child is to be.
type serveWith struct {
	Peer   string `json:"peer"`
	Answer answer `json:"answer"`
	Bytes  int    `json:"bytes"` // of each answer of the size, or of a push

	// Clients is how many will come. ENet has a place for each, and looks at all in each turn.
	Clients int `json:"clients"`

	// Host is the address of a server in a network of its own, "" on loopback.
	Host string `json:"host,omitempty"`
}

// answer is what a server does with a message.
type answer string

const (
	answerEcho  answer = "echo"
	answerSize  answer = "size"  // so many bytes that begin with the message's
	answerCount answer = "count" // none: it counts, and looks whether numbers follow each other
)

// counted is what came to a server that counts.
type counted struct {
	Got     uint64 `json:"got"`
	Strayed uint64 `json:"strayed"` // did not follow the one before
}

// served is a server in its process.
type served struct {
	serveWith
	server       Server
	bufs         sync.Pool // of answers
	got, strayed atomic.Uint64
	last         uint64 // owned by who calls take
}

// serverRole answers messages.
func serverRole() map[string]deed {
	s := &served{}
	return map[string]deed{
		"listen": s.listen,
		"count":  func(json.RawMessage) (any, error) { return counted{s.got.Load(), s.strayed.Load()}, nil },
		"push":   s.push,
	}
}

func (s *served) listen(with json.RawMessage) (any, error) {
	var err error
	if s.serveWith, err = decode[serveWith](with); err != nil {
		return nil, err
	}
	p, ok := peerNamed(s.Peer)
	if !ok {
		return nil, fmt.Errorf("no peer %q", s.Peer)
	}
	if s.Host != "" {
		loopback = net.JoinHostPort(s.Host, "0")
	}
	if s.Answer == answerSize {
		frameBuffer = smallFrameBuffer
	}
	s.bufs.New = func() any {
		b := make([]byte, s.Bytes)
		return &b
	}
	if s.server, err = p.Listen(s.take); err != nil {
		return nil, err
	}
	return s.server.Addr(), nil
}

// take answers a message. What cannot be sent is lost, and shows at the client.
func (s *served) take(l Link, b []byte) {
	switch s.Answer {
	case answerEcho:
		_ = l.Send(b)
	case answerSize:
		// Several goroutines may be here, each with a message of its own.
		buf := s.bufs.Get().(*[]byte)
		copy(*buf, b)
		_ = l.Send(*buf)
		s.bufs.Put(buf)
	case answerCount:
		n := binary.BigEndian.Uint64(b)
		if s.last++; n != s.last {
			s.strayed.Add(1)
			s.last = n
		}
	}
	s.got.Add(1)
}

// pushWith says for how long a server is to send by itself.
type pushWith struct {
	Every time.Duration `json:"every"`
	For   time.Duration `json:"for"`
}

// pushed is what it sent, and how long that took.
type pushed struct {
	Sent int           `json:"sent"`
	Took time.Duration `json:"took"`
}

// push sends to all clients, some of them each millisecond.
func (s *served) push(with json.RawMessage) (any, error) {
	w, err := decode[pushWith](with)
	if err != nil {
		return nil, err
	}
	p, ok := s.server.(Pusher)
	if !ok {
		return nil, fmt.Errorf("%s sends nothing by itself", s.Peer)
	}
	of := int(w.Every / time.Millisecond)
	buf := make([]byte, s.Bytes)
	var r pushed
	begin := time.Now()
	for i := range int(w.For / time.Millisecond) {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Millisecond)))
		stampNow(buf)
		n, err := p.Push(buf, i%of, of)
		if err != nil {
			return r, err
		}
		r.Sent += n
	}
	r.Took = time.Since(begin)
	return r, nil
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
	Bytes   uint64        `json:"bytes"` // payload that was sent into it, both ways
	Packets uint64        `json:"packets"`
	LateP99 time.Duration `json:"late_p99"` // how much later than due it sent itself
	LateMax time.Duration `json:"late_max"`
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
				LateP99: s.Late.Quantile(.99), LateMax: s.Late.Max(),
			}, nil
		},
	}
}

// clientRole is W1, W2 and W3 from their clients' side.
func clientRole() map[string]deed {
	e, c := &echo{}, &crowd{}
	return map[string]deed{
		"dial":   func(with json.RawMessage) (any, error) { return run(with, e.dial) },
		"echo":   func(with json.RawMessage) (any, error) { return run(with, e.run) },
		"rush":   func(with json.RawMessage) (any, error) { return run(with, runRush) },
		"gather": func(with json.RawMessage) (any, error) { return run(with, c.gather) },
		"crowd":  func(with json.RawMessage) (any, error) { return run(with, c.run) },
		idle:     func(json.RawMessage) (any, error) { return nil, c.idle() },
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

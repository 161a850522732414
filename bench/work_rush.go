package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"time"
)

// W2: one connection, reliable ordered 64-byte messages as fast as they go.
var rushWork = work{
	name: "W2", title: "W2: one connection, reliable ordered messages of 64 bytes as fast as they go",
	cases: []string{"64 bytes"}, quick: []string{"64 bytes"}, lanes: 1,
	columns: []column{
		{"rate", "messages/s", 0}, {"cpu", "CPU-s/million", 2}, {"server", "of it server", 2}, {"kernel", "kernel %", 0}, {"delivered", "delivered %", 2},
	},
	takes: func(p Peer) bool { return p.Reliable && p.Ordered && !p.Only },
	once:  rushOnce,
}

type rushWith struct {
	Peer string         `json:"peer"`
	Addr netip.AddrPort `json:"addr"`
	Size int            `json:"size"`
	For  time.Duration  `json:"for"`

	Gather int `json:"gather"`
}

type rushed struct {
	Sent uint64 `json:"sent"`
}

// mark is what has happened so far in W2.
type mark struct {
	at             time.Time
	got            uint64
	server, client cpu
}

func rushOnce(o *options, p Peer, kase string, round int) (map[string]float64, error) {
	w := rushWith{Peer: p.Name, Size: 64, For: o.pace.rush, Gather: p.Gather}
	var all family
	defer func() { all.stop() }()
	server, err := all.add(p, "server")
	if err != nil {
		return nil, err
	}
	client, err := all.add(p, "client")
	if err != nil {
		return nil, err
	}
	if err := server.ask("listen", serveWith{Peer: p.Name, Answer: answerCount, Bytes: w.Size, Clients: 1}, &w.Addr); err != nil {
		return nil, err
	}
	// The client is busy while it sends, so its CPU time is read from outside.
	look := func() (m mark, err error) {
		var c counted
		if err := server.ask("count", nil, &c); err != nil {
			return m, err
		}
		m.at, m.got = time.Now(), c.Got
		if m.client, err = cpuOf(client.cmd.Process.Pid); err != nil {
			return m, err
		}
		m.server, err = cpuOf(server.cmd.Process.Pid)
		return m, err
	}
	var r rushed
	sent := make(chan error, 1)
	go func() { sent <- client.ask("rush", w, &r) }()
	time.Sleep(o.pace.rushWarm)
	stop, err := o.profileOf(server, p, "W2", kase, round)
	if err != nil {
		return nil, err
	}
	a, err := look()
	if err != nil {
		return nil, err
	}
	time.Sleep(w.For - o.pace.rushWarm - 50*time.Millisecond) // it still sends at the end
	b, err := look()
	if err != nil {
		return nil, err
	}
	if err := stop(); err != nil {
		return nil, err
	}
	if err := <-sent; err != nil {
		return nil, err
	}
	c, err := arrived(server, r.Sent)
	if err != nil {
		return nil, err
	}
	if c.Strayed > 0 {
		return nil, fmt.Errorf("%d messages came out of order", c.Strayed)
	}
	million := float64(b.got-a.got) / 1e6
	if million == 0 {
		return nil, fmt.Errorf("nothing arrived")
	}
	onServer, onClient := b.server.since(a.server), b.client.since(a.client)
	both := cpu{User: onServer.User + onClient.User, System: onServer.System + onClient.System}
	return map[string]float64{
		"rate": float64(b.got-a.got) / b.at.Sub(a.at).Seconds(),
		"cpu":  both.all().Seconds() / million, "server": onServer.all().Seconds() / million,
		"kernel": 100 * both.kernel(), "delivered": 100 * float64(c.Got) / float64(r.Sent),
	}, nil
}

// arrived waits until a server has all that was sent, or has waited long enough.
func arrived(server *child, sent uint64) (c counted, err error) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err := server.ask("count", nil, &c); err != nil || c.Got >= sent {
			return c, err
		}
	}
	return c, nil
}

// lastLook is how long a client stays after its last message.
const lastLook = 15 * time.Second

// runRush sends until the time is up. That all arrived is asked of the server; the
// connection is left open for that.
func runRush(p Peer, w rushWith) (r rushed, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	link, err := p.Dial(ctx, w.Addr, func([]byte) {})
	if err != nil {
		return r, err
	}
	time.AfterFunc(lastLook, func() { link.Close() })
	if s, ok := link.(*streamLink); ok {
		s.gather = w.Gather
	}
	msg := make([]byte, w.Size)
	end := time.Now().Add(w.For)
	for {
		for range 64 { // the clock is dear
			binary.BigEndian.PutUint64(msg, r.Sent+1)
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
			if s, ok := link.(*streamLink); ok {
				return r, s.flush()
			}
			return r, nil
		}
	}
}

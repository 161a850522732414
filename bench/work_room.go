package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
)

// W4: one room, in which all clients see all objects, which all move in every tick.
var roomWork = work{
	name: "W4", title: "W4: one room, 100 clients who see 100 objects that move (x and y, 4 bytes each) in every tick",
	cases: []string{"20 Hz", "60 Hz"}, quick: []string{"20 Hz", "60 Hz"}, lanes: 1,
	columns: []column{
		{"cpu", "server CPU %", 1}, {"each", "µs/client-tick", 2}, {"kernel", "kernel %", 0}, {"bytes", "bytes/object-tick", 2},
		{"p50", "p50 ms", 2}, {"p99", "p99 ms", 2}, {"seen", "ticks seen %", 2}, {"held", "ticks held %", 1},
	},
	takes: func(p Peer) bool { return p.Room != nil },
	once:  roomOnce,
}

const (
	roomClients = 100
	roomObjects = 100
)

// Room is how a peer takes part in W4. A peer that is a Program does without its functions.
type Room struct {
	// Listen starts a server with a room of so many objects.
	Listen func(objects int) (RoomServer, error)

	// Join begins a light client that gives take what it sees of one object, each time
	// that it is told of it: eight bytes, as RoomServer.Tick was given them.
	Join func(now time.Time, addr netip.AddrPort) (Member, error)
}

// RoomServer is the server of a room.
type RoomServer interface {
	Addr() netip.AddrPort
	// Tick moves every object to a place, and tells all clients.
	Tick(place func(object int) [8]byte) error
	// Bytes returns how much was sent so far, all headers of the protocol included but not
	// those of UDP or TCP.
	Bytes() uint64
	Close() error
}

type roomWith struct {
	Peer    string         `json:"peer"`
	Addr    netip.AddrPort `json:"addr"`
	Clients int            `json:"clients"`
	Objects int            `json:"objects"`
	Rate    int            `json:"rate"` // ticks a second
	For     time.Duration  `json:"for"`
}

// roomSent is what a server has done so far.
type roomSent struct {
	Ticks int    `json:"ticks"`
	Bytes uint64 `json:"bytes"`
	CPU   cpu    `json:"cpu"`
}

func roomOnce(o *options, p Peer, kase string, round int) (map[string]float64, error) {
	w := roomWith{Peer: p.Name, Clients: roomClients, Objects: roomObjects, For: o.pace.room}
	if _, err := fmt.Sscanf(kase, "%d Hz", &w.Rate); err != nil {
		return nil, err
	}
	var all family
	defer func() { all.stop() }()
	server, err := all.add(p, "room")
	if err != nil {
		return nil, err
	}
	clients, err := all.add(p, "room clients")
	if err != nil {
		return nil, err
	}
	if err := server.ask("listen", w, &w.Addr); err != nil {
		return nil, err
	}
	if err := clients.ask("join", w, nil); err != nil {
		return nil, err
	}
	if err := server.ask("start", nil, nil); err != nil {
		return nil, err
	}
	warm := w
	warm.For = o.pace.roomWarm
	var t tally
	if err := clients.ask("watch", warm, &t); err != nil {
		return nil, err
	}
	var a, b roomSent
	if err := server.ask("sent", nil, &a); err != nil {
		return nil, err
	}
	stop, err := o.profileOf(server, p, "W4", kase, round)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := clients.ask("watch", w, &t); err != nil {
		return nil, err
	}
	if err := server.ask("sent", nil, &b); err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	if err := stop(); err != nil {
		return nil, err
	}
	ticks, used := float64(b.Ticks-a.Ticks), b.CPU.since(a.CPU)
	if ticks == 0 {
		return nil, fmt.Errorf("the server stands still")
	}
	slices.Sort(t.Late)
	return map[string]float64{
		"cpu": 100 * used.all().Seconds() / took, "each": used.all().Seconds() * 1e6 / ticks / roomClients, "kernel": 100 * used.kernel(),
		"bytes": float64(b.Bytes-a.Bytes) / ticks / roomClients / roomObjects,
		"p50":   millis(quantile(t.Late, .5)), "p99": millis(quantile(t.Late, .99)),
		"seen": 100 * float64(t.Got) / ticks / roomClients, "held": 100 * ticks / took / float64(w.Rate),
	}, nil
}

// A place's x is the time at which the object came there, in milliseconds of a cycle of 8.192 s,
// which a float32 holds to a thousandth: so who sees the object knows how long the news was
// under way. Its y is any other number that changes.
const roomCycle = 8192

// clockNow is the time of the cycle.
func clockNow() float64 {
	return math.Mod(float64(time.Now().UnixMicro()%(roomCycle*1000))/1000, roomCycle)
}

// sinceClock returns how long ago a time of the cycle was. A time that lies ahead by less than
// a millisecond was rounded up.
func sinceClock(x float64) time.Duration {
	ago := math.Mod(clockNow()-x+2*roomCycle, roomCycle)
	if ago > roomCycle-1 {
		ago = 0
	}
	return time.Duration(ago * float64(time.Millisecond))
}

// roomRole is the server of a room, which ticks once all are there.
func roomRole() map[string]deed {
	var server RoomServer
	var rate int
	var ticks atomic.Int64
	return map[string]deed{
		"listen": func(with json.RawMessage) (any, error) {
			w, err := decode[roomWith](with)
			if err != nil {
				return nil, err
			}
			p, ok := peerNamed(w.Peer)
			if !ok || p.Room == nil {
				return nil, fmt.Errorf("no room of a peer %q", w.Peer)
			}
			if server, err = p.Room.Listen(w.Objects); err != nil {
				return nil, err
			}
			rate = w.Rate
			return server.Addr(), nil
		},
		"start": func(json.RawMessage) (any, error) {
			go tickRoom(server, rate, &ticks)
			return nil, nil
		},
		"sent": func(json.RawMessage) (any, error) {
			c, err := cpuNow()
			return roomSent{Ticks: int(ticks.Load()), Bytes: server.Bytes(), CPU: c}, err
		},
	}
}

// tickRoom moves all objects at a rate, until the server is closed. A tick that would begin
// more than one tick late is let go.
func tickRoom(s RoomServer, rate int, ticks *atomic.Int64) {
	every := time.Second / time.Duration(rate)
	for next := time.Now(); ; next = next.Add(every) {
		if late := time.Since(next); late > every {
			next = next.Add(late)
		}
		time.Sleep(time.Until(next))
		x, n := float32(clockNow()), ticks.Load()
		err := s.Tick(func(object int) (b [8]byte) {
			putFloat(b[:4], x)
			putFloat(b[4:], float32(n%1000)+float32(object)/128)
			return b
		})
		if err != nil {
			return
		}
		ticks.Add(1)
	}
}

// roomClientsRole is all clients of a room.
func roomClientsRole() map[string]deed {
	var s *swarm
	return map[string]deed{
		"join": func(with json.RawMessage) (any, error) {
			return run(with, func(p Peer, w roomWith) (_ any, err error) {
				if s, err = newSwarm(); err != nil {
					return nil, err
				}
				s.take = func(b []byte) {
					s.sum.Got++
					s.sum.Late = append(s.sum.Late, sinceClock(float64(getFloat(b))))
				}
				return nil, s.gather(w.Clients, gatherPatience, func(now time.Time) (Member, error) { return p.Room.Join(now, w.Addr) })
			})
		},
		"watch": func(with json.RawMessage) (any, error) {
			w, err := decode[roomWith](with)
			if err != nil {
				return nil, err
			}
			s.harvest()
			err = s.rest(w.For, func() bool { return false })
			return s.harvest(), err
		},
	}
}

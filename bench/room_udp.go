package main

import (
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// udpRoom is the floor of W4: in each tick the same datagram to each client, as large as ours, and
// three bytes back.
var udpRoom = &Room{Listen: listenUDPRoom, Join: joinUDPRoom}

const (
	udpRoomHead   = 20
	udpRoomObject = 10 // an id, a size and eight bytes
)

type udpRoomServer struct {
	*batchedServer
	msg  []byte
	sent atomic.Uint64
}

func listenUDPRoom(objects int) (RoomServer, error) {
	s, err := listenBatched(func(l Link, b []byte) {
		if s := l.(*batchedServer); len(b) == len(hello) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.known = append(s.known, s.in.names[s.now])
		}
	}, 0)
	return &udpRoomServer{batchedServer: s, msg: make([]byte, udpRoomHead+objects*udpRoomObject)}, err
}

func (r *udpRoomServer) Tick(place func(object int) [8]byte) error {
	for i := 0; udpRoomHead+i*udpRoomObject < len(r.msg); i++ {
		at := place(i)
		copy(r.msg[udpRoomHead+i*udpRoomObject:], at[:])
	}
	n, err := r.Push(r.msg, 0, 1)
	r.sent.Add(uint64(n * len(r.msg)))
	return err
}

func (r *udpRoomServer) Bytes() uint64 { return r.sent.Load() }

var (
	hello = []byte{0}
	heard = []byte{1, 2, 3}
)

func joinUDPRoom(now time.Time, addr netip.AddrPort) (Member, error) {
	b := new(bare)
	m, err := newDatagramMember(addr, endpoint{
		core:  b,
		ready: func() bool { return true },
		poll: func(take func([]byte)) error {
			for _, msg := range b.come[:b.n] {
				take(msg[udpRoomHead:])
				b.out = append(b.out[:0], heard...)
			}
			b.n = 0
			return nil
		},
	})
	if err == nil {
		_, err = unix.Write(m.fd, hello) // so that the server knows it
	}
	return m, err
}

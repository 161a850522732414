package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/carry"
	"parley/internal/carry/ws"
)

// replicaRoomWS and replicaRoomWSQ are the same rooms over WebSocket, as browsers come.
var (
	replicaRoomWS  = doubles.roomWS()
	replicaRoomWSQ = steps.roomWS()
)

func (p placeForm) roomWS() *Room {
	return &Room{
		Listen: func(objects int) (RoomServer, error) { return listenReplicaRoomWS(objects, p) },
		Join:   func(now time.Time, addr netip.AddrPort) (Member, error) { return joinReplicaRoomWS(now, addr, p) },
	}
}

// replicaRoomWSServer is a room whose clients come over WebSocket.
type replicaRoomWSServer struct {
	*replicaRoomServer
	hall     *carry.Hall
	carrier  *ws.Server
	listener net.Listener
	web      http.Server
}

func listenReplicaRoomWS(objects int, form placeForm) (RoomServer, error) {
	building := carry.NewBuilding(carry.Config{OfHost: -1})
	room, err := listenReplicaRoom(objects, form, building.Sessions("replica"))
	if err != nil {
		return nil, err
	}
	r := &replicaRoomWSServer{replicaRoomServer: room, hall: building.Hall("replica"), carrier: ws.NewServer(building)}
	r.web.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.carrier.Serve(w, q, netip.MustParseAddrPort(q.RemoteAddr), true)
	})
	if r.listener, err = net.Listen("tcp4", loopback); err != nil {
		return nil, err
	}
	go r.web.Serve(r.listener)
	return r, nil
}

func (r *replicaRoomWSServer) Addr() netip.AddrPort { return addrOf(r.listener.Addr()) }

// Bytes counts the heads of frames, of which nearly all carry more than 125 bytes.
func (r *replicaRoomWSServer) Bytes() uint64 {
	st := r.hall.Stats()
	return st.OutBytes + 4*st.Out
}

func (r *replicaRoomWSServer) Close() error {
	r.web.Close()
	err := r.replicaRoomServer.Close()
	r.carrier.Wait()
	return err
}

func joinReplicaRoomWS(now time.Time, addr netip.AddrPort, form placeForm) (Member, error) {
	fd, err := dialWS(addr, "replica")
	if err != nil {
		return nil, err
	}
	return &wsMember{datagramMember: datagramMember{fd, addr, replicaRoomEndpoint(now, addr, form)}}, nil
}

// wsMember is an endpoint over WebSocket: a message is a datagram.
type wsMember struct {
	datagramMember
	part []byte // of a frame, whose rest is on its way
	out  []byte
}

// dialWS opens a connection and does the handshake, which waits.
func dialWS(to netip.AddrPort, dialect string) (int, error) {
	c, err := net.DialTimeout("tcp4", to.String(), gatherPatience)
	if err != nil {
		return -1, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(gatherPatience))
	if _, err := fmt.Fprintf(c, "GET %s%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", ws.Path, dialect, to); err != nil {
		return -1, err
	}
	var line []byte
	for one := make([]byte, 1); len(line) < 4 || string(line[len(line)-4:]) != "\r\n\r\n"; {
		if _, err := io.ReadFull(c, one); err != nil {
			return -1, fmt.Errorf("the handshake: %w after %q", err, line)
		}
		line = append(line, one[0])
	}
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	if e := raw.Control(func(old uintptr) { fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) }); e != nil {
		return -1, e
	}
	return fd, err
}

func (m *wsMember) Turn(now time.Time, take func([]byte)) (next time.Time, err error) {
	for {
		n, err := unix.Read(m.fd, scratch[:])
		if err == unix.EAGAIN {
			break
		}
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return next, err
		}
		m.part = append(m.part, scratch[:n]...)
		for rest := m.part; ; {
			b, size := wsFrame(rest)
			if size == 0 {
				m.part = append(m.part[:0], rest...)
				break
			}
			rest = rest[size:]
			m.core.HandleDatagram(now, m.to, b)
			if err := m.poll(take); err != nil {
				return next, err
			}
		}
		if n < len(scratch) {
			break
		}
	}
	if at, ok := m.core.NextTimeout(); ok && !at.After(now) {
		m.core.HandleTimeout(now)
		if err := m.poll(take); err != nil {
			return next, err
		}
	}
	err = m.transmit()
	next, _ = m.core.NextTimeout()
	return next, err
}

// wsFrame returns the payload of the first frame of a server, and how many bytes it takes; 0 if it is not there whole.
func wsFrame(b []byte) (payload []byte, size int) {
	if len(b) < 2 {
		return nil, 0
	}
	head, n := 2, int(b[1])
	if n == 126 {
		if head = 4; len(b) < head {
			return nil, 0
		}
		n = int(binary.BigEndian.Uint16(b[2:]))
	}
	if len(b) < head+n {
		return nil, 0
	}
	return b[head : head+n], head + n
}

func (m *wsMember) Send(now time.Time, b []byte) (next time.Time, err error) {
	if err = m.send(now, b); err == nil {
		err = m.transmit()
	}
	next, _ = m.core.NextTimeout()
	return next, err
}

// transmit writes what the core has, in one write. A mask that does not change is enough here: it costs the server as much as any.
func (m *wsMember) transmit() error {
	m.out = m.out[:0]
	for {
		n, _, ok := m.core.PollTransmit(scratch[:])
		if !ok {
			break
		}
		if m.out = append(m.out, 0x82); n < 126 {
			m.out = append(m.out, 0x80|byte(n))
		} else {
			m.out = binary.BigEndian.AppendUint16(append(m.out, 0x80|126), uint16(n))
		}
		key := [4]byte{0x5a, 0xa5, 0x3c, 0xc3}
		m.out = append(m.out, key[:]...)
		for i, x := range scratch[:n] {
			m.out = append(m.out, x^key[i&3])
		}
	}
	if len(m.out) == 0 {
		return nil
	}
	n, err := unix.Write(m.fd, m.out)
	if err == nil && n < len(m.out) {
		err = io.ErrShortWrite
	}
	return err
}

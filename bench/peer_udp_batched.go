package main

import (
	"encoding/binary"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var udpBatchedPeers = []Peer{
	{
		Name: "udp batched", Settings: "recvmmsg and sendmmsg, 64 datagrams a call: the floor", Crowd: true, Room: udpRoom,
		Listen: func(take func(Link, []byte)) (Server, error) { return listenBatched(take, 0) },
		Join:   joinUDP,
	},
	{
		Name: "udp gathered", Settings: "the same, asleep for 250 µs before it reads: the floor of those that gather", Crowd: true,
		Listen: func(take func(Link, []byte)) (Server, error) { return listenBatched(take, gather) },
		Join:   joinUDP,
	},
	{
		Name: "udp batched down", Settings: "sendmmsg by the server's own clock: the floor of those that send down only", Crowd: true, Down: true,
		Listen: func(func(Link, []byte)) (Server, error) { return listenBatched(nil, 0) },
		Join: func(now time.Time, addr netip.AddrPort) (Member, error) {
			m, err := joinUDP(now, addr)
			if err == nil {
				_, err = m.Send(now, []byte{0}) // so that the server knows it
			}
			return m, err
		},
	},
}

const (
	batch      = 64 // datagrams a system call, as internal/udp has it
	batchBytes = 2048

	// As internal/udp has them: how long it gathers datagrams, and how many are worth the next wait.
	gather      = 250 * time.Microsecond
	gatherWorth = 4
)

// batchedServer is the least that a Go program can do to move datagrams in batches: recvmmsg
// and sendmmsg over the runtime's poller, and addresses passed on as they came.
type batchedServer struct {
	file    *os.File
	raw     syscall.RawConn
	addr    netip.AddrPort
	take    func(Link, []byte)
	gather  time.Duration // how long it sleeps before it reads, 0: it does not
	in, out *vectors
	n       int // datagrams in out
	now     int // the datagram of in that is being answered

	mu    sync.Mutex              // of out, and of
	known []unix.RawSockaddrInet4 // who has sent something, if it is for them to wait
}

// vectors are the messages of one system call.
type vectors struct {
	msgs  []unix.Mmsghdr
	iovs  []unix.Iovec
	names []unix.RawSockaddrInet4
	bytes []byte
}

func newVectors() *vectors {
	v := &vectors{make([]unix.Mmsghdr, batch), make([]unix.Iovec, batch), make([]unix.RawSockaddrInet4, batch), make([]byte, batch*batchBytes)}
	for i := range v.msgs {
		v.iovs[i].Base = &v.bytes[i*batchBytes]
		v.iovs[i].SetLen(batchBytes)
		h := &v.msgs[i].Hdr
		h.Iov = &v.iovs[i]
		h.SetIovlen(1)
		h.Name = (*byte)(unsafe.Pointer(&v.names[i]))
		h.Namelen = unix.SizeofSockaddrInet4
	}
	return v
}

func listenBatched(take func(Link, []byte), gather time.Duration) (*batchedServer, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		return nil, err
	}
	for _, option := range []int{unix.SO_RCVBUF, unix.SO_SNDBUF} {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, udpBuffer) // the system may grant less
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return nil, err
	}
	s := &batchedServer{
		file: os.NewFile(uintptr(fd), "udp"), take: take, gather: gather, in: newVectors(), out: newVectors(),
		addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*unix.SockaddrInet4).Port)),
	}
	if s.raw, err = s.file.SyscallConn(); err != nil {
		return nil, err
	}
	go s.serve()
	return s, nil
}

func (s *batchedServer) Addr() netip.AddrPort { return s.addr }
func (s *batchedServer) Close() error         { return s.file.Close() }

// serve answers until the file is closed, inside one Read, which saves turns of the poller.
func (s *batchedServer) serve() {
	_ = s.raw.Read(func(fd uintptr) bool {
		for {
			if s.gather > 0 {
				t := unix.NsecToTimespec(s.gather.Nanoseconds())
				_, _, _ = syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0) // raw, as internal/udp does
			}
			n, _, errno := syscall.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&s.in.msgs[0])), batch, 0, 0, 0)
			if errno != 0 {
				return errno != unix.EAGAIN
			}
			s.handle(int(n))
			s.mu.Lock() // for Push
			s.flush(fd)
			s.mu.Unlock()
			if n < batch && (s.gather == 0 || n < gatherWorth) {
				return false // most likely there is no more
			}
		}
	})
}

func (s *batchedServer) handle(n int) {
	if s.take == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.known = append(s.known, s.in.names[:n]...)
		return
	}
	for s.now = range n {
		s.take(s, s.in.bytes[s.now*batchBytes:][:s.in.msgs[s.now].Len])
	}
}

// Send answers the datagram that is being handled.
func (s *batchedServer) Send(b []byte) error {
	s.put(&s.in.names[s.now], b)
	return nil
}

func (s *batchedServer) put(to *unix.RawSockaddrInet4, b []byte) {
	s.out.names[s.n] = *to
	copy(s.out.bytes[s.n*batchBytes:], b)
	s.out.iovs[s.n].SetLen(len(b))
	s.n++
}

func (s *batchedServer) flush(fd uintptr) (sent int) {
	for sent < s.n {
		k, _, errno := syscall.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&s.out.msgs[sent])), uintptr(s.n-sent), 0, 0, 0)
		if errno != 0 {
			break // what finds no room is lost
		}
		sent += int(k)
	}
	s.n = 0
	return sent
}

// Push sends to those whose turn it is. A server that pushes answers nobody.
func (s *batchedServer) Push(b []byte, turn, of int) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.raw.Control(func(fd uintptr) {
		for i := turn; i < len(s.known); i += of {
			if s.put(&s.known[i], b); s.n == batch {
				n += s.flush(fd)
			}
		}
		n += s.flush(fd)
	})
	return n, err
}

// stampNow writes the time into the first 8 bytes of a message.
func stampNow(b []byte) { binary.BigEndian.PutUint64(b, uint64(time.Now().UnixNano())) }

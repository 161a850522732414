package stream

import (
	"math"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel asks the system about connections. It has room for one answer, so that asking allocates nothing. It is owned by the
// goroutine of Turn.
type kernel struct {
	info unix.TCPInfo
	size uint32
	err  syscall.Errno
	ask  func(fd uintptr)

	rate int
	set  func(fd uintptr)
}

// arrivals returns what the system knows of a connection to which it was given so many bytes, and whether it knows.
func (k *kernel) arrivals(c *Conn, taken uint64) (a Arrivals, ok bool) {
	if k.ask == nil {
		k.ask = func(fd uintptr) {
			k.size = uint32(unsafe.Sizeof(k.info))
			_, _, k.err = unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_INFO,
				uintptr(unsafe.Pointer(&k.info)), uintptr(unsafe.Pointer(&k.size)), 0)
		}
	}
	k.info = unix.TCPInfo{}
	if c.raw.Control(k.ask) != nil || k.err != 0 {
		return Arrivals{}, false
	}
	i := &k.info
	a = Arrivals{
		Acked: i.Bytes_acked, Ago: time.Duration(i.Last_ack_recv) * time.Millisecond,
		RTT: time.Duration(i.Rtt) * time.Microsecond, Least: time.Duration(i.Min_rtt) * time.Microsecond, Resent: i.Bytes_retrans,
		Sacked: int(i.Sacked), Heard: uint64(i.Data_segs_in),
		Unsent: int(i.Notsent_bytes), Full: i.Unacked+i.Retrans >= i.Sacked+i.Lost+i.Snd_cwnd,
	}
	if i.Min_rtt == math.MaxUint32 {
		a.Least = 0 // nothing was measured yet
	}
	if i.Unacked == 0 && i.Notsent_bytes == 0 {
		a.Acked = taken // whatever the system counts before the first byte, and systems that do not count
	}
	return a, true
}

// bound keeps the system from holding what a slow peer has yet to read: see maxUnsent and sendBuffer.
func (c *Conn) bound() { bound(c.raw) }

// Bound keeps the system from holding much of what the peer of a connection has yet to read.
func Bound(c *net.TCPConn) {
	if raw, err := c.SyscallConn(); err == nil {
		bound(raw)
	}
}

func bound(raw syscall.RawConn) {
	_ = raw.Control(func(fd uintptr) { // without, the peer is served as well as it goes
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent)
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
	})
}

// limit bounds how many bytes a second the system sends, 0: it does not.
func (k *kernel) limit(c *Conn, rate uint64) {
	if k.set == nil {
		k.set = func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, k.rate) }
	}
	if rate == 0 || rate > math.MaxInt32 {
		rate = math.MaxUint32 // the system's word for no bound
	}
	k.rate = int(rate)
	_ = c.raw.Control(k.set) // without, the peer is served as well as it goes
}

// ackNow has the system acknowledge what was read: see Client.Prompt.
func (c *Conn) ackNow() { _ = c.raw.Control(quickAck) } // without, the server is told later

func quickAck(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1) }

package udp

import (
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// batched is the socket of Linux: recvmmsg, sendmmsg, GRO and GSO on a
// descriptor that the runtime's poller waits for.
type batched struct {
	file   *os.File
	raw    syscall.RawConn
	kernel kernel
	config Config
	family family
	remote netip.AddrPort // set when connected
	counts *counters
	closed atomic.Bool

	gro bool

	// gsoMax is the largest datagram that may be joined; 0 when GSO is off. The writing
	// goroutine sets it.
	gsoMax atomic.Int32

	park   parker
	reader reader
	writer writer
}

func newBatched(fd int, f family, c Config, remote netip.AddrPort, counts *counters) (*batched, error) {
	d := &batched{kernel: kernelOf(c), config: c, family: f, remote: remote, counts: counts}
	if !c.NoGRO {
		d.gro = unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_GRO, 1) == nil
	}
	if !c.NoGSO {
		if _, err := unix.GetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT); err == nil {
			d.gsoMax.Store(MaxPayload)
		}
	}
	// The descriptor does not block, so NewFile gives it to the poller.
	d.file = os.NewFile(uintptr(fd), "udp")
	raw, err := d.file.SyscallConn()
	if err != nil {
		d.file.Close()
		return nil, err
	}
	d.raw = raw
	d.park.sleep = d.file
	d.reader.spinAfter = spinAfter
	d.reader.gather.Span = c.Gather
	// Method values allocate: they are made once, here.
	d.reader.onReadable = d.readable
	d.writer.init(d, c.Batch)
	return d, nil
}

func (d *batched) wake() { d.park.wake() }

func (d *batched) offload() (gso, gro bool) { return d.gsoMax.Load() > 0, d.gro }

func (d *batched) buffers() (recv, send int) {
	_ = d.raw.Control(func(fd uintptr) { recv, send = bufferSizes(int(fd)) })
	return recv, send
}

func (d *batched) dropped() uint64 {
	if d.closed.Load() {
		return 0 // close has counted them
	}
	return d.kernelDrops()
}

// kernelDrops returns how many datagrams found the receive buffer full.
func (d *batched) kernelDrops() (n uint64) {
	_ = d.raw.Control(func(fd uintptr) {
		var info [unix.SK_MEMINFO_VARS]uint32
		size := uint32(unsafe.Sizeof(info))
		_, _, errno := syscall.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_MEMINFO,
			uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
		if errno == 0 {
			n = uint64(info[unix.SK_MEMINFO_DROPS])
		}
	})
	return n
}

func (d *batched) close() error {
	drops := d.kernelDrops()
	if d.closed.Swap(true) {
		return nil
	}
	d.counts.inDropped.Add(drops)
	return d.file.Close()
}

package main

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// ownNet is an end of the link of W5 and W6: a network namespace of its own, whose only way out is a device that another process
// reads and writes. It is that of a thread, and ends with its last process.
type ownNet struct {
	thread
	device *os.File
}

// The ends of the link. Each network has addresses of its own, so all runs use the same two.
const (
	serverAddr = "10.77.0.1"
	playerAddr = "10.77.0.2"

	deviceName = "narrow"
	firstFile  = 3 // the descriptor of the first extra file of a child
)

// newOwnNet makes one with an address.
func newOwnNet(addr string) (s *ownNet, err error) {
	s = &ownNet{thread: newThread()}
	s.do(func() { err = s.open(addr) })
	if err != nil {
		s.end()
		return nil, fmt.Errorf("a network of our own (it needs root, or \"unshare -Ur\" before the command): %w", err)
	}
	return s, nil
}

func (s *ownNet) open(addr string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.device = os.NewFile(uintptr(fd), deviceName)
	if err := configure(fd, addr); err != nil {
		s.device.Close()
		return err
	}
	return nil
}

// configure makes a device of a descriptor of tun, with an address of a network of four.
func configure(fd int, addr string) error {
	control, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(control)
	var ip [4]byte
	if _, err := fmt.Sscanf(addr, "%d.%d.%d.%d", &ip[0], &ip[1], &ip[2], &ip[3]); err != nil {
		return err
	}
	for _, step := range []struct {
		fd    int
		call  uint
		name  string
		value func(*unix.Ifreq) error
	}{
		{fd, unix.TUNSETIFF, deviceName, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI); return nil }},
		{control, unix.SIOCSIFADDR, deviceName, func(r *unix.Ifreq) error { return r.SetInet4Addr(ip[:]) }},
		{control, unix.SIOCSIFNETMASK, deviceName, func(r *unix.Ifreq) error { return r.SetInet4Addr([]byte{255, 255, 255, 252}) }},
		{control, unix.SIOCSIFMTU, deviceName, func(r *unix.Ifreq) error { r.SetUint32(narrowMTU); return nil }},
		{control, unix.SIOCSIFTXQLEN, deviceName, func(r *unix.Ifreq) error { r.SetUint32(maxUnderWay); return nil }}, // it drops nothing itself
		{control, unix.SIOCSIFFLAGS, deviceName, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP); return nil }},
		{control, unix.SIOCSIFFLAGS, "lo", func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP); return nil }},
	} {
		request, err := unix.NewIfreq(step.name)
		if err != nil {
			return err
		}
		if err := step.value(request); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(step.fd, step.call, request); err != nil {
			return fmt.Errorf("device %s: %w", step.name, err)
		}
	}
	return nil
}

// close ends it.
func (s *ownNet) close() {
	s.end()
	s.device.Close()
}

// netsMissing says why there can be no nets here, "" if there can.
var netsMissing = sync.OnceValue(func() string {
	s, err := newOwnNet(serverAddr)
	if err != nil {
		return err.Error()
	}
	s.close()
	return ""
})

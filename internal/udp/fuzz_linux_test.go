package udp

import (
	"bytes"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FuzzControl: control messages come from the kernel, but a reader that stays
// inside its bytes whatever they are need not trust anybody.
func FuzzControl(f *testing.F) {
	var b [24]byte
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b))
	h.SetLen(unix.CmsgLen(4))
	h.Level, h.Type = unix.IPPROTO_UDP, unix.UDP_GRO
	b[unix.SizeofCmsghdr] = 64
	f.Add(b[:])
	h.Level, h.Type = unix.IPPROTO_IP, unix.IP_TOS
	h.SetLen(unix.CmsgLen(1))
	f.Add(b[:])
	f.Add(append(bytes.Clone(b[:]), b[:]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = append(make([]byte, 0, len(b)), b...) // no room behind it
		segment := readSegment(b)
		if again := readSegment(b); again != segment {
			t.Errorf("segment %d, then %d", segment, again)
		}
	})
}

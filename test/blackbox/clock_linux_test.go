package blackbox

import (
	"encoding/binary"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// How long before the kernel received an answer of realm's time server its stamp was read, while 200 bots play: what a window client takes
// for the delay of the path. The kernel's time is SO_TIMESTAMPNS of the client's socket.
func BenchmarkTimeAnswers(b *testing.B) {
	const each = 40
	config := loadConfig{Favoured: true}
	l := startLoaded(b, config)
	defer play(b, crowdOf(b, l, config, each))()
	for f := l.say(loadFigures); f.Players < 4*each || f.Spectators < each; f = l.say(loadFigures) {
		time.Sleep(50 * time.Millisecond)
	}
	dialled, err := net.Dial("udp", l.addrs["realm-time"])
	if err != nil {
		b.Fatal(err)
	}
	defer dialled.Close()
	conn := dialled.(*net.UDPConn)
	raw, err := conn.SyscallConn()
	if err != nil {
		b.Fatal(err)
	}
	if cerr := raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1) }); cerr != nil || err != nil {
		b.Skip("no receive times: ", cerr, err)
	}
	var delays []time.Duration
	var buf, control [128]byte
	lost := 0
	for b.Loop() {
		if _, err := conn.Write([]byte("8 bytes!")); err != nil {
			b.Fatal(err)
		}
		conn.SetReadDeadline(time.Now().Add(time.Second))
		n, oob, _, _, err := conn.ReadMsgUDP(buf[:], control[:])
		list, perr := syscall.ParseSocketControlMessage(control[:oob])
		if err != nil || n != 16 || perr != nil || len(list) == 0 || len(list[0].Data) < int(unsafe.Sizeof(syscall.Timespec{})) {
			lost++
			continue
		}
		at := *(*syscall.Timespec)(unsafe.Pointer(&list[0].Data[0]))
		delays = append(delays, time.Duration(at.Nano())-time.Duration(binary.BigEndian.Uint64(buf[8:]))*time.Microsecond)
		time.Sleep(5 * time.Millisecond)
	}
	if len(delays) == 0 {
		b.Fatal("no answer came")
	}
	slices.Sort(delays)
	b.ReportMetric(milliseconds(delays[len(delays)/2]), "stamp-p50-ms")
	b.ReportMetric(milliseconds(delays[len(delays)*99/100]), "stamp-p99-ms")
	b.Logf("load %s; %d answers, %d lost", machineLoad(), len(delays), lost)
}

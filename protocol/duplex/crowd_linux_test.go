package duplex

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"parley/internal/shell/shelltest"
	"parley/protocol/duplex/core"
)

// BenchmarkCrowd is the bar of the server: 500 clients, each of which is told of 100
// elements that change 20 times a second, a datagram for each. CPU time is that of the
// whole process, the collector's and the mains' included, and is held against a process that
// just writes as many datagrams of the same bytes, batched and joined alike, between the
// server's ticks. Run it with -benchtime 3x: a round takes two seconds.
func BenchmarkCrowd(b *testing.B) {
	s, err := Listen("127.0.0.1:0", Config{Schema: crowdSchema, WaitingPerAddress: -1}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var value uint64
	data := make([]byte, crowdData)
	data[0] = 1
	tick := func() {
		err := s.Do(func() {
			m := s.Scene()
			for sid := range int16(crowdElements) {
				value++
				binary.BigEndian.PutUint64(data[1:], value)
				if err := m.Set(sid+1, data); err != nil {
					b.Error(err)
				}
			}
			m.Flush()
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	tick()
	bare, crowds := shelltest.StartHelper(b, loadVariable, "bare"), shelltest.StartHelper(b, loadVariable, "crowd")
	var done string
	crowds.Ask(b, fmt.Sprint("connect ", s.Addr(), " ", s.FeedAddr()), &done)
	ports := make([]any, crowdSize)
	for i := range ports {
		ports[i] = new(int)
	}
	crowds.Ask(b, "open", ports...)
	line := "ports"
	for _, p := range ports {
		line += fmt.Sprint(" ", *p.(*int))
	}
	bare.Ask(b, line, &done)

	var got, bareGot, sent, bareSent int
	round := func(ticks int) (cpu, bareCPU time.Duration, out uint64) {
		var before, after int64
		var n int
		bare.Ask(b, "cpu", &before)
		cpu, out = shelltest.ProcessCPU(), updatesOf(b, s)
		start := time.Now()
		for i := range ticks {
			time.Sleep(time.Until(start.Add(time.Duration(i) * 50 * time.Millisecond)))
			tick()
			time.Sleep(time.Until(start.Add(time.Duration(i)*50*time.Millisecond + 25*time.Millisecond)))
			bare.Ask(b, "write", &n)
			bareSent += n
		}
		time.Sleep(300 * time.Millisecond)
		cpu, out = shelltest.ProcessCPU()-cpu, updatesOf(b, s)-out
		bare.Ask(b, "cpu", &after)
		var g, bad, bg, bareBad int
		crowds.Ask(b, "count", &g, &bad, &bg, &bareBad)
		sent, got, bareGot = sent+int(out), got+g, bareGot+bg
		if bad+bareBad > 0 {
			b.Errorf("%d and %d datagrams were not updates", bad, bareBad)
		}
		return cpu, time.Duration(after - before), out
	}
	round(10) // so that pools are filled
	sent, got, bareSent, bareGot = 0, 0, 0, 0
	var ratios, ours, floors []float64
	for b.Loop() {
		cpu, bareCPU, out := round(40)
		per, floor := float64(cpu)/float64(out), float64(bareCPU)/(40*crowdSize*crowdElements)
		ours, floors, ratios = append(ours, per), append(floors, floor), append(ratios, per/floor)
	}
	b.ReportMetric(shelltest.Median(ours), "cpu-ns/datagram")
	b.ReportMetric(shelltest.Median(floors), "floor-ns/datagram")
	b.ReportMetric(shelltest.Median(ratios), "x-floor")
	b.ReportMetric(100*float64(got)/float64(sent), "%delivered")
	b.ReportMetric(100*float64(bareGot)/float64(bareSent), "%floor-delivered")
	b.ReportMetric(0, "ns/op")
	// On a machine that is too busy for 20 ticks a second, a value that changes before it was
	// sent is not sent.
	b.ReportMetric(100*float64(sent)/float64(bareSent), "%sent")
	if st := s.Stats(); st.Conns != crowdSize || sent > bareSent || st.Socket.OutLost > 0 {
		b.Errorf("%d updates were sent, and %d bare datagrams; the server counts %+v", sent, bareSent, st)
	}
}

// updatesOf returns how many updates the server has sent to all.
func updatesOf(tb testing.TB, s *Server) (n uint64) {
	err := s.Do(func() {
		for c := range s.Scene().Conns() {
			n += c.Stats().Updates
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// bareMain obeys lines of standard input:
//
//	ports PORT...  where to write
//	write          100 datagrams to each port; answers how many were sent
//	cpu            answers the CPU time of this process in ns
func bareMain() {
	var w *bareWriter
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch f := strings.Fields(lines.Text()); f[0] {
		case "ports":
			w = newBareWriter(f[1:])
			fmt.Println("done")
		case "write":
			fmt.Println(w.write())
		case "cpu":
			fmt.Println(shelltest.ProcessCPU().Nanoseconds())
		}
	}
}

// bareWriter is the least that a program can do to send those datagrams: sendmmsg of
// messages of up to 64 joined datagrams, always from the same memory.
type bareWriter struct {
	fd  int
	v   vectors
	oob []byte
}

const bareJoined = 64

func newBareWriter(ports []string) *bareWriter {
	w := &bareWriter{fd: openUDP()}
	_ = unix.SetsockoptInt(w.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 4<<20)
	var data []byte
	for i := range crowdElements {
		d := core.Datagram{Sequence: int64(i + 1), Message: core.Message{Kind: core.KindUpdate, SID: int16(i + 1), Data: make([]byte, crowdData)}}
		data = d.AppendTo(data)
	}
	w.v = newVectors(2 * len(ports))
	space := unix.CmsgSpace(2)
	w.oob = make([]byte, space)
	c := (*unix.Cmsghdr)(unsafe.Pointer(&w.oob[0]))
	c.Level, c.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
	c.SetLen(unix.CmsgLen(2))
	*(*uint16)(unsafe.Pointer(&w.oob[unix.SizeofCmsghdr])) = crowdDatagram
	for i := range w.v.msgs {
		var port uint16
		fmt.Sscan(ports[i/2], &port)
		name := &w.v.names[i]
		name.Family, name.Addr = unix.AF_INET, [4]byte{127, 0, 0, 1}
		binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&name.Port))[:], port)
		h := &w.v.msgs[i].Hdr
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(name)), unix.SizeofSockaddrInet4
		h.Control = &w.oob[0]
		h.SetControllen(space)
		from, to := 0, bareJoined
		if i%2 == 1 {
			from, to = bareJoined, crowdElements
		}
		w.v.iovs[i].Base = &data[from*crowdDatagram]
		w.v.iovs[i].SetLen((to - from) * crowdDatagram)
	}
	return w
}

func (w *bareWriter) write() (datagrams int) {
	for done := 0; done < len(w.v.msgs); {
		n, _, errno := syscall.Syscall6(unix.SYS_SENDMMSG, uintptr(w.fd), uintptr(unsafe.Pointer(&w.v.msgs[done])), uintptr(min(64, len(w.v.msgs)-done)), 0, 0, 0)
		if errno == unix.EAGAIN {
			continue
		}
		if errno != 0 {
			panic(errno)
		}
		done += int(n)
	}
	return crowdSize * crowdElements
}

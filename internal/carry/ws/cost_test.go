package ws

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/internal/carry"
	"parley/internal/datagram"
	"parley/internal/kit"
	"parley/internal/patient"
)

// mirror is a core that sends back the newest datagram, and allocates nothing.
type mirror struct {
	hall *carry.Hall
	from netip.AddrPort
	b    [carry.MaxDatagram]byte
	n    int
}

func (m *mirror) HandleDatagram(_ time.Time, from netip.AddrPort, b []byte) {
	m.hall.Welcome(from)
	m.from, m.n = from, copy(m.b[:], b)
}
func (m *mirror) HandleTimeout(time.Time)              {}
func (m *mirror) NextTimeout() (at time.Time, ok bool) { return at, false }
func (m *mirror) PollTransmit(buf []byte) (n int, to netip.AddrPort, ok bool) {
	n, m.n = copy(buf, m.b[:m.n]), 0
	return n, m.from, n > 0
}

// A message that comes and one that goes allocate nothing, whole, in parts, and with a ping.
func TestMessagesAllocateNothing(t *testing.T) {
	if kit.Race {
		t.Skip("the race detector allocates")
	}
	ways(t, func(t *testing.T, f *field) {
		hall := f.building.Hall("stamp")
		loop := datagram.StartLoop(carry.Join(datagram.NewSilent(netip.AddrPort{}, netip.AddrPort{}), hall), &mirror{hall: hall}, datagram.LoopConfig{})
		t.Cleanup(func() { loop.Close() })
		c := f.raw(t, "stamp")
		c.SetDeadline(time.Now().Add(time.Minute))
		out := append(frame(0x02, 0x83, nil, "abc"), frame(0x89, 0x82, nil, "hi")...)
		out = append(out, frame(0x80, 0x83, nil, "def")...)
		out = append(out, frame(0x82, 0x86, nil, "ghijkl")...)
		var in [4 + 8]byte // the answer to the ping, and that to the newest message; to both, if they came in two turns
		got := testing.AllocsPerRun(1000, func() {
			if _, err := c.Write(out[:len(out)-12]); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, in[:]); err != nil {
				t.Fatal(err)
			}
			c.Write(out[len(out)-12:])
			if _, err := io.ReadFull(c, in[:8]); err != nil || string(in[2:8]) != "ghijkl" {
				t.Fatalf("got % x, %v", in[:8], err)
			}
		})
		if got > 0 {
			t.Errorf("%v allocations", got)
		}
	})
}

// A client that sends as much as it can has its share of the reader, and no other waits for it.
func TestAFloodHoldsUpNobody(t *testing.T) {
	ways(t, func(t *testing.T, f *field) {
		other := f.dial(t, "replica")
		for range 2 {
			flood := f.shake(t, "replica")
			over := make(chan struct{})
			go func() {
				defer close(over)
				large := frame(0x82, 0xff, []byte{0, 0, 0, 0, 0, 1, 0, 0}, string(make([]byte, 1<<16)))
				for {
					if _, err := flood.Write(large); err != nil {
						return
					}
				}
			}()
			defer patient.Value(over)
			defer flood.Close()
		}
		for range 30 {
			begun := time.Now()
			other.Write(t.Context(), websocket.MessageBinary, []byte("hello"))
			if _, got, err := other.Read(t.Context()); string(got) != "hello" || err != nil {
				t.Fatalf("got %q, %v", got, err)
			}
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("it waited for %v", took)
			}
		}
	})
}

// A client that takes nothing is cut off, also when nothing waits for it but what is being written.
func TestAClientThatTakesNothingIsCutOff(t *testing.T) {
	ways(t, func(t *testing.T, f *field) {
		f.ws.patience = 50 * time.Millisecond
		hall := f.building.Hall("replica")
		c := f.raw(t, "replica")
		c.(*net.TCPConn).SetReadBuffer(4 << 10)
		patient.Until(t, "it is cut off", func() bool {
			if st := hall.Stats(); st.Open == 0 {
				return st.Stuck == 1
			}
			c.Write(frame(0x82, 0x85, nil, "flood")) // a thousand answers, 1.2 MB
			return false
		})
		if st := hall.Stats(); st.Stuck != 1 {
			t.Errorf("stats: %+v", st)
		}
	})
}

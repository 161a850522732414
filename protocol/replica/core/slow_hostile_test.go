package core

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
)

// liar is a player whose acknowledgements are lies.
type liar struct {
	slowClient
	lie   func(l *liar, ack uint16)
	held  [][]byte        // to go out next
	value map[uint16]bool // which packets had values
	all   []uint16        // that it keeps back
	now   time.Time
	next  time.Time // when it tells of them
}

func (l *liar) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	l.now = now
	if typeOf(b) == TypeReplicate {
		l.value[sequenceOf(b)] = true
	}
	l.slowClient.HandleDatagram(now, from, b)
}

func (l *liar) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	for {
		if k := len(l.held); k > 0 {
			n := copy(buf, l.held[k-1])
			l.held = l.held[:k-1]
			return n, serverAddr, true
		}
		n, to, ok := l.slowClient.PollTransmit(buf)
		if !ok || n != ackBytes || typeOf(buf[:n]) != TypeAck {
			return n, to, ok
		}
		l.lie(l, binary.LittleEndian.Uint16(buf[1:]))
	}
}

// ack has an acknowledgement go out.
func (l *liar) ack(n uint16) { l.held = append(l.held, appendAck(nil, n)) }

// A player that lies about what has arrived is sent no more than a tick's budget and no less than its own entity, and
// whoever plays beside it notices nothing.
func TestWhoLiesAboutWhatArrivedHarmsItself(t *testing.T) {
	lies := []struct {
		name string
		lie  func(l *liar, ack uint16)
	}{
		{"of what was not sent yet", func(l *liar, ack uint16) {
			for i := range uint16(20) {
				l.ack(ack + i)
			}
		}},
		{"none of values", func(l *liar, ack uint16) {
			if !l.value[ack] {
				l.ack(ack)
			}
		}},
		{"ten times", func(l *liar, ack uint16) {
			for range 10 {
				l.ack(ack)
			}
		}},
		{"of all that ever came", func(l *liar, ack uint16) {
			for i := range uint16(100) {
				l.ack(ack - i)
			}
		}},
		{"all at once, now and then", func(l *liar, ack uint16) {
			if l.all = append(l.all, ack); l.now.After(l.next) {
				for _, n := range l.all {
					l.ack(n)
				}
				l.all, l.next = l.all[:0], l.now.Add(2*time.Second)
			}
		}},
		{"every second one of values", func(l *liar, ack uint16) {
			if ack%2 == 0 || !l.value[ack] {
				l.ack(ack)
			}
		}},
	}
	const budget = 2048 // less than the world has to say
	path := kit.SlowPath{For: 20 * time.Second}
	if kit.Race { // there is one goroutine
		path.For = 7 * time.Second
	}
	d := slow
	d.Server = func(now time.Time, seed uint64, w *kit.SlowWorld) kit.SlowServer {
		s := newSlowServer(now, seed, w).(*slowServer)
		s.budget = budget
		return s
	}
	honest, err := d.Run(kit.Seed(t), 2, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range lies {
		t.Run(tt.name, func(t *testing.T) {
			d := d
			d.Client = func(now time.Time, seed uint64, own int) kit.SlowClient {
				c := newSlowClient(now, seed, own)
				if own == 0 {
					return &liar{slowClient: c.(slowClient), lie: tt.lie, value: map[uint16]bool{}}
				}
				return c
			}
			got, err := d.Run(kit.Seed(t), 2, path)
			if err != nil {
				t.Fatal(err)
			}
			liar, other, was := got.Players[0], got.Players[1], honest.Players[1]
			t.Logf("it was sent %.1f kB/s and saw %d of %d steps, the other %.1f kB/s", float64(liar.Used)/got.Seconds/1000, liar.StepsSeen, liar.Steps, float64(other.Used)/got.Seconds/1000)
			// Beside values there are lines, acknowledgements and clocks, and the headers of a tick's packets.
			if most := got.Seconds * (20*(budget+3*28) + 1000); float64(liar.Used) > most {
				t.Errorf("it was sent %d bytes, want %.0f at most", liar.Used, most)
			}
			if liar.StepsSeen < liar.Steps {
				t.Errorf("it saw %d of its %d steps", liar.StepsSeen, liar.Steps)
			}
			if other.Used < was.Used*99/100 || other.Oldest > was.Oldest || other.StepsSeen < other.Steps {
				t.Errorf("the other was sent %d bytes, saw %d of %d steps and what was %v old; beside an honest player %+v", other.Used, other.StepsSeen, other.Steps, other.Oldest, was)
			}
		})
	}
}

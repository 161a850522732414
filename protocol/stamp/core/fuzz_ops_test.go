package core

import (
	"encoding/binary"
	"testing"
	"time"
)

// FuzzOps runs a script of what a server, a network and a stranger can do, and holds what comes
// against the law of delivery. Each byte is a step; some take the next ones as their argument.
func FuzzOps(f *testing.F) {
	f.Add([]byte{0, 1, 2, 10, 10, 10, 3, 9, 9, 12, 12, 12})
	f.Add([]byte{2, 2, 2, 10, 12, 200, 11, 10, 12, 12, 12, 12})
	f.Add([]byte{1, 1, 5, 10, 6, 7, 8, 12, 13, 250, 12, 4, 20, 0, 0, 9})
	f.Add([]byte{0, 1, 2, 14, 12, 12, 12, 12, 12, 12, 12, 12})
	f.Add([]byte{1, 15, 12, 12, 12, 12, 12, 12})
	f.Fuzz(func(t *testing.T, script []byte) {
		runScript(t, script[:min(len(script), 2000)])
	})
}

// runScript is one run of FuzzOps.
func runScript(t *testing.T, script []byte) {
	d := newDuo(t, 1, Config{})
	var sent, next [3]uint32
	seen := map[uint64]bool{}
	blind := true // nobody injected a packet with the right time
	arg := func() int {
		if len(script) == 0 {
			return 0
		}
		v := script[0]
		script = script[1:]
		return int(v)
	}
	for len(script) > 0 {
		switch op := arg(); op % 16 {
		case 0, 1, 2:
			mode := Mode(op % 16)
			data := append(binary.LittleEndian.AppendUint32([]byte{byte(mode)}, sent[mode]), make([]byte, arg())...)
			if d.s.Send(d.now, mode, data) == nil {
				sent[mode]++
			}
		case 3:
			d.s.SendReport(d.now, []byte{9}, uint32(arg()))
		case 4: // bytes out of nowhere
			n := min(arg(), len(script))
			raw := script[:n]
			script = script[n:]
			var p Packet
			blind = blind && !(p.Parse(FromServer, raw) && d.c.inTime(d.now, p.Time)) && !(p.Parse(FromClient, raw) && d.s.inTime(d.now, p.Time))
			d.c.HandleDatagram(d.now, serverAddr, raw)
			d.s.HandleDatagram(d.now, clientAddr, raw)
		case 5:
			d.toC = drop(d.toC, arg())
		case 6:
			d.toS = drop(d.toS, arg())
		case 7:
			d.toC = again(d.toC, arg())
		case 8:
			d.toS = again(d.toS, arg())
		case 9:
			swap(d.toC, arg())
			swap(d.toS, arg())
		case 10:
			d.poll()
		case 11:
			d.now = d.now.Add(time.Duration(arg()) * time.Millisecond)
			d.wake()
		case 12:
			d.turn(5 * time.Millisecond)
		case 13:
			d.turn(time.Duration(arg()) * 20 * time.Millisecond)
		case 14:
			if arg()%8 == 0 {
				d.s.Close(d.now, "over")
			}
		case 15:
			if arg()%8 == 0 {
				d.c.Close(d.now, "")
			}
		}
		for _, ev := range d.events {
			if ev.Kind != EventEntity || !blind || len(ev.Data) < 5 {
				continue
			}
			mode, index := Mode(ev.Data[0]), binary.LittleEndian.Uint32(ev.Data[1:])
			key := uint64(mode)<<32 | uint64(index)
			if seen[key] || mode == Ordered && index != next[Ordered] {
				t.Fatalf("%v packet %d came twice or out of order", mode, index)
			}
			seen[key] = true
			next[mode]++
		}
		d.events = d.events[:0]
	}
	for i := 0; i < 3000 && blind && d.s.State() == StateOpen && d.c.State() == StateOpen && d.s.sender.InFlight(0)+d.s.ordered.Len() > 0; i++ {
		d.turn(5 * time.Millisecond)
		for _, ev := range d.events {
			if ev.Kind == EventEntity && len(ev.Data) >= 5 {
				next[Mode(ev.Data[0])]++
			}
		}
		d.events = d.events[:0]
	}
	if blind && d.s.State() == StateOpen && d.c.State() == StateOpen && (next[Reliable] != sent[Reliable] || next[Ordered] > sent[Ordered]) {
		t.Fatalf("of %v sent %v came", sent, next)
	}
	d.check()
}

func drop(list [][]byte, i int) [][]byte {
	if len(list) == 0 {
		return list
	}
	i %= len(list)
	return append(list[:i], list[i+1:]...)
}

func again(list [][]byte, i int) [][]byte {
	if len(list) == 0 || len(list) > 1000 {
		return list
	}
	return append(list, list[i%len(list)])
}

func swap(list [][]byte, i int) {
	if len(list) > 0 {
		i %= len(list)
		list[0], list[i] = list[i], list[0]
	}
}

package core

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// T4: no bytes make the codec panic, and what it accepts it writes as it came.
func FuzzParse(f *testing.F) {
	for _, s := range shapes {
		d := Datagram{Sequence: 1, Message: s.random(fuzzRand())}
		if len(d.Data) > 100 {
			d.Data = d.Data[:100]
		}
		f.Add(byte(s.from), byte(s.on), d.bytes(s.on))
	}
	f.Fuzz(func(t *testing.T, from, on byte, b []byte) {
		var d Datagram
		side, again := Side(from&3), []byte(nil)
		if Channel(on&3) == Feed {
			if !d.Parse(side, b) {
				return
			}
			again = d.AppendTo(nil)
		} else {
			if !d.Message.Parse(side, Channel(on&3), b) {
				return
			}
			again = d.Message.AppendTo(nil)
		}
		if !bytes.Equal(again, b) {
			t.Errorf("%x is written as %x", b, again)
		}
	})
}

// T4: a stream reads the same however it is cut.
func FuzzStream(f *testing.F) {
	f.Add(uint16(3), uint16(9), transcript(fuzzRand(), 20))
	f.Add(uint16(1), uint16(2), []byte{CodeSync, 0, 7, 0, CodeSync, 0, 7, 3})
	f.Fuzz(func(t *testing.T, one, two uint16, b []byte) {
		cuts := []int{min(int(one), len(b)), min(int(two), len(b))}
		slices.Sort(cuts)
		want := readAll(gameStream(), b)
		if got := readAll(gameStream(), b[:cuts[0]], b[cuts[0]:cuts[1]], b[cuts[1]:]); got != want {
			t.Errorf("cut at %v it reads as\n%q\nnot\n%q", cuts, got, want)
		}
	})
}

// fuzzRand returns a source that is always the same, for the seeds of a fuzzer.
func fuzzRand() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

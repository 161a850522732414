package simnet

import (
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
)

// trace is the record of a run: a hash that is always kept, and lines if somebody wants to read them.
type trace struct {
	hash uint64
	w    io.Writer
	err  error
}

// A mark is the kind of a record.
type mark uint8

const (
	markSend mark = iota + 1
	markEnd
	markCopy
	markCorrupt
	markTimeout
	markPoke
	markScript
	markProfile
	markCut
	markHeal
	markCrash
	markRestart
	markRebind
	markSkew
	markShift
	numMarks
)

var markNames = [numMarks]string{
	"unset", "send", "end", "duplicate", "corrupt", "timeout", "poke", "script", "profile",
	"cut", "heal", "crash", "restart", "rebind", "skew", "shift",
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// mix folds x into h: a product of 128 bits whose halves are joined, so that every bit of both tells in the result.
// The constants are arbitrary odd numbers with about as many ones as zeros.
func mix(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^0x9d3f_71c5_a86b_04e7, x^0xc2b2_95e3_6a7d_1f4b)
	return hi ^ lo ^ bits.RotateLeft64(h, 23) + x
}

// add puts a record of plain numbers into the hash.
func (t *trace) add(m mark, now int64, a, b int32, detail uint64) {
	h := mix(t.hash, uint64(now))
	h = mix(h, uint64(uint32(a))<<32|uint64(uint32(b)))
	t.hash = mix(h, detail<<8|uint64(m))
}

// datagram records something that befell one: m says what, fate its end if it has come to one.
func (t *trace) datagram(m mark, now int64, from, to *Host, sum uint32, bytes int, fate Fate) {
	a, b := number(from), number(to)
	t.add(m, now, a, b, uint64(sum)<<24|uint64(bytes)<<4|uint64(fate))
	if t.w == nil {
		return
	}
	what := markNames[m]
	if m == markEnd {
		what = fate.String()
	}
	t.line(now, "%s %s>%s %d bytes %08x", what, nameOf(from), nameOf(to), bytes, sum)
}

// host records something that befell a host.
func (t *trace) host(m mark, now int64, h *Host, detail string) {
	t.add(m, now, h.index, 0, uint64(sumString(detail)))
	if t.w != nil {
		t.line(now, "%s %s%s", markNames[m], h.Name(), detail)
	}
}

func (t *trace) script(now int64, what string) {
	t.add(markScript, now, 0, 0, uint64(sumString(what)))
	if t.w != nil {
		t.line(now, "script %s", what)
	}
}

func (t *trace) profile(now int64, p *Profile) {
	text := p.String()
	t.add(markProfile, now, 0, 0, uint64(sumString(text)))
	if t.w != nil {
		t.line(now, "profile %s", text)
	}
}

// line writes one line. A writer that failed is not written to again; Network.Run tells of it.
func (t *trace) line(now int64, format string, args ...any) {
	if t.err != nil {
		return
	}
	_, t.err = fmt.Fprintf(t.w, "%d.%09d %s\n", now/1e9, now%1e9, fmt.Sprintf(format, args...))
}

func number(h *Host) int32 {
	if h == nil {
		return -1
	}
	return h.index
}

func nameOf(h *Host) string {
	if h == nil {
		return "?"
	}
	return h.Name()
}

func sumBytes(b []byte) uint32 { return crc32.Update(0, castagnoli, b) }

// sumString goes byte by byte, because a string would have to be copied for sumBytes, and these are short and rare.
func sumString(s string) uint32 {
	h := uint64(len(s))
	for i := range len(s) {
		h = mix(h, uint64(s[i]))
	}
	return uint32(h ^ h>>32)
}

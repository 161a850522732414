package core

import (
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"parley/internal/pagetest"
)

// page is docs/protocols/replica.md: its tables by the heading above them, each a
// list of rows without its head.
type page map[string][][]string

func readPage(t testing.TB) page {
	text, err := os.ReadFile("../../../docs/protocols/replica.md")
	if err != nil {
		t.Fatal(err)
	}
	p, heading := page{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "#"); ok {
			heading = strings.TrimLeft(title, "# ")
		}
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		p[heading] = append(p[heading], cells)
	}
	for heading, rows := range p {
		if len(rows) < 3 || strings.Trim(rows[1][0], "-") != "" {
			t.Fatalf("%q: a table has a head, a line and rows", heading)
		}
		for _, row := range rows {
			if len(row) != len(rows[0]) {
				t.Fatalf("%q: %q has %d cells, its head %d", heading, row, len(row), len(rows[0]))
			}
		}
		p[heading] = rows[2:]
	}
	return p
}

// layout finds the layout of a packet or block: headings may name several.
func (p page) layout(t testing.TB, name string) [][]string {
	t.Helper()
	for heading, rows := range p {
		for _, part := range regexp.MustCompile(`, | and `).Split(heading, -1) {
			if part == name {
				return rows
			}
		}
	}
	t.Fatalf("no layout of %s", name)
	return nil
}

// packetRow is a row of the table of packets.
type packetRow struct {
	name       string
	kind       Kind
	from       []Side
	typ, block int // block is -1 if there is none
	sequence   int // -1 if any, -2 if there is none
	least      int
	most       int // 0 if there is no such
}

func (p page) packets(t testing.TB) (rows []packetRow) {
	for _, row := range p["Packets"] {
		r := packetRow{name: row[0], typ: pagetest.Number(t, row[2]), block: -1, sequence: -1}
		for _, k := range allKinds {
			if k.String() == r.name {
				r.kind = k
			}
		}
		for _, side := range []Side{FromClient, FromServer} {
			if row[1] == side.String() || row[1] == "both" {
				r.from = append(r.from, side)
			}
		}
		if row[3] != "–" {
			r.block = pagetest.Number(t, row[3])
		}
		switch row[4] {
		case "any":
		case "–":
			r.sequence = -2
		default:
			r.sequence = pagetest.Number(t, row[4])
		}
		least, most, isRange := strings.Cut(row[5], " to ")
		least, open := strings.CutSuffix(least, " and more")
		r.least = pagetest.Number(t, least)
		if r.most = r.least; isRange {
			r.most = pagetest.Number(t, most)
		} else if open {
			r.most = 0
		}
		if r.kind == 0 || len(r.from) == 0 {
			t.Fatalf("%q: no such packet or sender", row)
		}
		rows = append(rows, r)
	}
	return rows
}

// built is a packet made from the tables alone.
type built struct {
	t      testing.TB
	page   page
	packet packetRow
	from   Side
	flags  byte
	d      *draw
	size   func(field string, d *draw) int // how long a text, data or list is

	b      []byte
	fields []builtField
}

// builtField is where a field is in the packet, and what it holds: a uint64 or a
// string of bytes.
type builtField struct {
	path   string
	at, to int
	value  any
}

var listCell = regexp.MustCompile(`^(.+) × \[(.+)\]\(#[a-z-]+\)$`)

// block appends one block by its table; path leads to its fields.
func (x *built) block(name, path string) {
	rows, from := x.page.layout(x.t, name), len(x.b)
	sizes, fixed := x.sizes(rows), true
	for _, row := range rows {
		offset, length, field := row[0], row[1], row[2]
		if fixed != (offset != "") || fixed && pagetest.Number(x.t, offset) != len(x.b)-from {
			x.t.Fatalf("%s: %s is at %d, the table says %q", name, field, len(x.b)-from, offset)
		}
		if list := listCell.FindStringSubmatch(length); list != nil {
			for i := range sizes[list[1]] {
				x.block(list[2], fmt.Sprintf("%s%s[%d].", path, field, i))
			}
			fixed = false
			continue
		}
		at := len(x.b)
		var value any
		if n, ok := sizes[length]; ok {
			fixed = false
			value = x.text(field, n)
			x.b = append(x.b, value.(string)...)
		} else {
			n := pagetest.Number(x.t, length)
			v := x.value(field, n, sizes)
			value = v
			x.b = append(x.b, binary.LittleEndian.AppendUint64(nil, v)[:n]...)
		}
		x.fields = append(x.fields, builtField{path + field, at, len(x.b), value})
	}
}

// sizes draws the sizes and counts that later fields of a block refer to.
func (x *built) sizes(rows [][]string) map[string]int {
	sizes := map[string]int{}
	for _, row := range rows {
		ref := row[1]
		if list := listCell.FindStringSubmatch(ref); list != nil {
			ref = list[1]
		} else if _, err := strconv.Atoi(ref); err == nil {
			continue
		}
		sizes[ref] = x.size(ref, x.d)
		switch {
		case x.packet.kind == KindDisconnect && x.from == FromClient:
			sizes[ref] = 0
		case ref == "1 to 64":
			sizes[ref] = min(1+sizes[ref], MaxBundled)
		case ref == "packet size": // an ack's, or a message's
			if sizes[ref] *= 10; sizes[ref] < minMessageBytes {
				sizes[ref] = ackBytes
			}
		}
	}
	return sizes
}

func (x *built) text(field string, n int) string {
	if field == "packet" {
		p := Packet{Kind: KindAck, Acked: uint16(x.d.bits(16))}
		if n > ackBytes {
			p = Packet{Kind: KindMessage, Data: make([]byte, n-minMessageBytes)}
		}
		return string(p.AppendTo(nil))
	}
	if field == "name" {
		return strings.Repeat("é", n/2) + strings.Repeat("n", n%2)
	}
	return strings.Repeat("\xff", n)
}

// value is what a field of fixed size holds.
func (x *built) value(field string, n int, sizes map[string]int) uint64 {
	if size, ok := sizes[field]; ok {
		return uint64(size)
	}
	switch field {
	case "packet type":
		return uint64(x.packet.typ)
	case "flags":
		return uint64(x.flags)
	case "connection type", "sync type", "link type":
		return uint64(x.packet.block)
	case "sequence":
		if x.packet.sequence >= 0 {
			return uint64(x.packet.sequence)
		}
	case "data type":
		return x.d.bits(16) % uint64(len(x.page["Data types"]))
	case "count":
		return 1 + x.d.bits(10)
	}
	v := x.d.r.Uint64()
	return v & (1<<(8*n) - 1)
}

// flagsOf are the flag bytes that the table of flags allows for a packet; ok is
// false for a packet without flags.
func (p page) flagsOf(t testing.TB, packet string) (allowed []byte, ok bool) {
	for _, row := range p["Flags"] {
		if row[0] != packet {
			continue
		}
		for flags := range 256 {
			if allows(t, row[1], flags, flags&1) && allows(t, row[2], flags, flags>>1&1) &&
				allows(t, row[3], flags, flags>>2&31) && allows(t, row[4], flags, flags>>7) {
				allowed = append(allowed, byte(flags))
			}
		}
		return allowed, true
	}
	return nil, false
}

// allows reads one cell of the table of flags: may the bits be v?
func allows(t testing.TB, cell string, flags, v int) bool {
	what, with, _ := strings.Cut(cell, ", with bit ")
	if with != "" && v != 0 && flags>>pagetest.Number(t, with)&1 == 0 {
		return false
	}
	switch what {
	case "0", "1":
		return v == pagetest.Number(t, what)
	case "0 or 1", "0 to 31", "extended", "more":
		return true
	}
	t.Fatalf("flags: %q", cell)
	return false
}

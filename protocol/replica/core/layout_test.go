package core

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/internal/kit"
	"parley/internal/pagetest"
	"parley/internal/promise"
	"parley/internal/wire"
)

// T6: the page says what the code does, of each packet and each field.
func TestLayoutTables(t *testing.T) {
	promise.Keeps(t, "T6", "replica", 1)
	p := readPage(t)
	packets := p.packets(t)
	seen := map[Kind]bool{}
	for _, row := range packets {
		seen[row.kind] = true
		for _, from := range row.from {
			t.Run(fmt.Sprintf("%s from a %s", row.name, from), func(t *testing.T) { p.checkPacket(t, row, from) })
		}
	}
	if len(seen) != len(allKinds) {
		t.Errorf("the page has %d packets of %d", len(seen), len(allKinds))
	}
}

func (p page) checkPacket(t *testing.T, row packetRow, from Side) {
	r := kit.Rand(t)
	flags, hasFlags := p.flagsOf(t, row.name)
	if !hasFlags {
		flags = []byte{0}
	}
	sizes := []func(string, *draw) int{
		func(string, *draw) int { return 0 },
		func(field string, d *draw) int { return int(d.bits(2)) },
		longest,
	}
	for i := range 3 + kit.Rounds(300, 10_000) {
		x := &built{t: t, page: p, packet: row, from: from, flags: flags[i%len(flags)], d: &draw{r: r}}
		x.size = sizes[min(i, 1)]
		if i == 2 && row.most != 0 {
			x.size = sizes[2]
		}
		x.block(row.name, "")
		switch {
		case i == 0 && len(x.b) != row.least:
			t.Fatalf("the least has %d bytes, the page says %d", len(x.b), row.least)
		case i == 2 && row.most != 0 && len(x.b) != row.most:
			t.Fatalf("the largest has %d bytes, the page says %d", len(x.b), row.most)
		}
		x.checkRead()
		if len(x.b) < 1000 {
			x.checkPrefixes()
		}
	}
}

// longest is the largest that a size may be.
func longest(field string, _ *draw) int {
	if field == "data size" {
		return MaxDataBytes
	}
	return 255
}

// checkRead holds what the code reads against what the tables put there.
func (x *built) checkRead() {
	var p Packet
	if err := p.ParseErr(x.from, x.b); err != nil {
		x.t.Fatalf("%x: %v", x.b, err)
	}
	if p.Kind != x.packet.kind {
		x.t.Fatalf("%x is a %v, the page says %v", x.b, p.Kind, x.packet.kind)
	}
	if again := p.AppendTo(nil); !bytes.Equal(again, x.b) {
		x.t.Fatalf("the page  %x\nthe code  %x", x.b, again)
	}
	got := fieldsOf(&p)
	for _, f := range x.fields {
		name := f.path[strings.LastIndexByte(f.path, '.')+1:]
		if name == "packet type" || name == "flags" || strings.HasSuffix(name, " size") || strings.HasSuffix(name, " count") ||
			name != "data type" && strings.HasSuffix(name, " type") {
			continue // they are seen by what they lead to
		}
		if got[f.path] != f.value {
			x.t.Fatalf("%x: %s is %v, the page says %v", x.b, f.path, got[f.path], f.value)
		}
		delete(got, f.path)
	}
	if len(got) != 0 {
		x.t.Fatalf("%x: the page does not have %v", x.b, got)
	}
}

// checkPrefixes: a packet that ends inside a field is refused by the name of that
// field, or of the list that cannot fit, and its offset.
func (x *built) checkPrefixes() {
	var p Packet
	for n := range x.b {
		err := p.ParseErr(x.from, x.b[:n])
		if err == nil && (x.packet.kind == KindReject && n == minRejectBytes || x.packet.kind == KindBundle && x.endsList(n)) {
			continue
		}
		i := slices.IndexFunc(x.fields, func(f builtField) bool { return f.at <= n && n < f.to })
		want := x.fields[i]
		e, ok := err.(*wire.Error)
		if !ok || e.Cause != wire.CauseShort {
			x.t.Fatalf("%x: %v", x.b[:n], err)
		}
		inList := strings.HasPrefix(want.path, e.Field+"[") || strings.HasPrefix(afterList(x, want), e.Field)
		if !(e.Field == want.path && e.Offset == want.at) && !inList {
			x.t.Fatalf("%x ends in %s at %d, but: %v", x.b[:n], want.path, want.at, err)
		}
	}
}

// endsList reports whether an element of a list ends at n.
func (x *built) endsList(n int) bool {
	return slices.ContainsFunc(x.fields, func(f builtField) bool { return f.to == n && strings.HasSuffix(f.path, "].packet") })
}

// afterList is the list whose last count was read before a field: a packet that
// ends behind the count of a list is refused at the list.
func afterList(x *built, f builtField) string {
	i := slices.IndexFunc(x.fields, func(g builtField) bool { return g == f })
	for _, g := range x.fields[i:] {
		if at := strings.LastIndexByte(g.path, '['); at >= 0 {
			return g.path[:at]
		}
	}
	return "\x00"
}

// fieldsOf names what a packet holds as the page does.
func fieldsOf(p *Packet) map[string]any {
	m := map[string]any{}
	if p.Kind != KindAck && p.Kind < KindBundle {
		m["sequence"] = uint64(p.Sequence)
	}
	switch p.Kind {
	case KindAccept:
		m["received"], m["sent"], m["sync interval"] = p.Received, p.Sent, uint64(p.SyncInterval)
	case KindReject, KindDisconnect:
		m["reason"] = string(p.Reason)
	case KindSyncAck:
		m["acknowledged sequence"], m["sent"], m["received"] = uint64(p.Acked), p.Sent, p.Received
	case KindAck:
		m["acknowledged sequence"] = uint64(p.Acked)
	case KindAckRun:
		m["first sequence"], m["count"] = uint64(p.Acked), uint64(p.Count)
	case KindBundle:
		i := 0
		for packet := range p.Bundle.Packets() {
			m[fmt.Sprintf("packets[%d].packet", i)] = string(packet)
			i++
		}
	case KindMessage:
		m["timestamp"], m["name"], m["data"] = p.Time, string(p.Name), string(p.Data)
	case KindLinkTable:
		tableFields(m, p.Table)
	case KindReplicate:
		m["timestamp"] = p.Time
		valueFields(m, p.Values)
	}
	return m
}

func tableFields(m map[string]any, t Table) {
	linked := func(path string, v LinkedVariable) {
		m[path+"link"], m[path+"data type"], m[path+"name"] = uint64(v.Link), uint64(v.Type), string(v.Name)
	}
	i := 0
	for v := range t.Variables() {
		linked(fmt.Sprintf("variables[%d].", i), v)
		i++
	}
	i = 0
	for e := range t.Entities() {
		path := fmt.Sprintf("entities[%d].", i)
		m[path+"link"], m[path+"name"] = uint64(e.Link), string(e.Name)
		j := 0
		for v := range e.Variables() {
			linked(fmt.Sprintf("%svariables[%d].", path, j), v)
			j++
		}
		i++
	}
}

func valueFields(m map[string]any, v Replication) {
	i := 0
	for e := range v.Entities() {
		path := fmt.Sprintf("entities[%d].", i)
		m[path+"link"] = uint64(e.Link)
		j := 0
		for u := range e.Variables() {
			path := fmt.Sprintf("%svariables[%d].", path, j)
			m[path+"link"] = uint64(u.Link)
			k := 0
			for id, data := range u.Values() {
				path := fmt.Sprintf("%svalues[%d].", path, k)
				m[path+"entity"], m[path+"data"] = uint64(id), string(data)
				k++
			}
			j++
		}
		i++
	}
	i = 0
	for value := range v.Variables() {
		path := fmt.Sprintf("variables[%d].", i)
		m[path+"link"], m[path+"data"] = uint64(value.Link), string(value.Data)
		i++
	}
}

// The table of flags is whole: what it does not allow is refused.
func TestFlagsTable(t *testing.T) {
	p := readPage(t)
	for _, k := range allKinds {
		allowed, ok := p.flagsOf(t, k.String())
		if ok != hasFlags(k) {
			t.Errorf("%v: in the table of flags: %t", k, ok)
		}
		if !ok {
			continue
		}
		b := unhex(t, least[k])
		for flags := range 256 {
			b[1] = byte(flags)
			if got, want := new(Packet).Parse(sideOf(k), b), slices.Contains(allowed, byte(flags)); got != want {
				t.Errorf("%v with flags %08b: accepted %t, the page says %t", k, flags, got, want)
			}
		}
	}
}

func TestDataTypesTable(t *testing.T) {
	rows := readPage(t)["Data types"]
	if len(rows) != int(dataTypes) {
		t.Fatalf("%d rows, want %d", len(rows), dataTypes)
	}
	for _, row := range rows {
		d := DataType(pagetest.Number(t, row[0]))
		size := fmt.Sprint(d.Size())
		if d == DataChars {
			size = fmt.Sprintf("0 to %d", MaxValueBytes)
		}
		if row[1] != d.String() || row[2] != size {
			t.Errorf("the page says %q, the code %v of %s", row, d, size)
		}
	}
}

func TestLimitsTable(t *testing.T) {
	limits := map[string]int{
		"`MaxReasonBytes`": MaxReasonBytes, "`MaxNameBytes`": MaxNameBytes, "`MaxDataBytes`": MaxDataBytes,
		"`MaxValueBytes`": MaxValueBytes, "`MaxListed`": MaxListed, "`MaxOrderLink`": MaxOrderLink,
		"`MaxBundled`": MaxBundled, "`MaxBundledBytes`": MaxBundledBytes, "`MaxAcked`": MaxAcked,
	}
	rows := readPage(t)["Limits"]
	if len(rows) != len(limits) {
		t.Errorf("%d rows, want %d", len(rows), len(limits))
	}
	for _, row := range rows {
		if want, ok := limits[row[2]]; !ok || pagetest.Number(t, row[1]) != want {
			t.Errorf("the page says %q, the code %d", row, want)
		}
	}
}

// The sizes that the code counts with are those of the page.
func TestSizesOfThePage(t *testing.T) {
	p := readPage(t)
	for name, want := range map[string]int{
		"connect.init": initBytes, "connect.accept": acceptBytes, "sync.init": syncInitBytes, "sync.ack": syncAckBytes, "ack": ackBytes,
		"link.init": linkBytes, "replicate": replicateBytes, "message": minMessageBytes, "connect.reject": minRejectBytes + 1,
		"bundle": minBundleBytes, "ack.run": ackRunBytes,
	} {
		for _, row := range p.packets(t) {
			if row.name == name && row.least != want {
				t.Errorf("%s: the page says %d, the code %d", name, row.least, want)
			}
		}
	}
	for name, want := range map[string]int{
		"table variable": minVariableBytes, "table entity": minEntityBytes, "table entity variable": minEntityVariableBytes,
		"entity link": minEntityUpdateBytes, "variable link": minVariableUpdateBytes, "entity value": minEntityValueBytes, "variable value": minValueBytes,
	} {
		x := &built{t: t, page: p, d: &draw{r: kit.Rand(t)}, size: func(string, *draw) int { return 0 }}
		if x.block(name, ""); len(x.b) != want {
			t.Errorf("%s: the page says %d, the code %d", name, len(x.b), want)
		}
	}
}

package core

import (
	"bytes"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"parley/internal/promise"
	"parley/internal/wire"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// least is the smallest packet of each kind, with flags that are right.
var least = map[Kind]string{
	KindInit:       "00 00 0000 00",
	KindAccept:     "00 01 0100 01 0000000000000000 0000000000000000 00000000",
	KindReject:     "00 00 0100 02 00",
	KindDisconnect: "01 00 0000 00",
	KindSyncInit:   "02 0000 00",
	KindSyncAck:    "02 0000 01 0000 0000000000000000 0000000000000000",
	KindAck:        "03 0000",
	KindLinkInit:   "04 03 0000 0000",
	KindLinkTable:  "04 03 0000 0100 00 00",
	KindLinkAccept: "04 03 0000 0200",
	KindLinkReject: "04 03 0000 0300",
	KindReplicate:  "05 00 0000 0000000000000000 00 00",
	KindMessage:    "06 00 0000 0000000000000000 00 0000",
	KindBundle:     "07 0300 030000",
	KindAckRun:     "08 0000 0100",
}

// Who sends what, in the words of the document's tables.
func TestSenders(t *testing.T) {
	client, server := "client", "server"
	for kind, want := range map[Kind]string{
		KindInit: client, KindAccept: server, KindReject: server, KindDisconnect: client + server,
		KindSyncInit: server, KindSyncAck: client + server, KindAck: client + server,
		KindLinkInit: client, KindLinkTable: server, KindLinkAccept: client, KindLinkReject: client,
		KindReplicate: server, KindMessage: client + server, KindBundle: client + server, KindAckRun: client + server,
	} {
		b := unhex(t, least[kind])
		var p Packet
		for _, from := range []Side{FromClient, FromServer} {
			got := p.Parse(from, b)
			if got != strings.Contains(want, from.String()) {
				t.Errorf("%v from a %v: accepted %t", kind, from, got)
			}
			if got && p.Kind != kind {
				t.Errorf("%x is a %v, want %v", b, p.Kind, kind)
			}
			if err := p.ParseErr(from, b); !got && !strings.Contains(err.Error(), "only a "+want+" sends") {
				t.Errorf("%v from a %v: %v", kind, from, err)
			}
		}
		if p.Parse(0, b) {
			t.Errorf("%v from nobody is accepted", kind)
		}
	}
}

// mayHaveFlags is the rule of the specification's page, clause by clause.
func mayHaveFlags(k Kind, flags int) bool {
	reliable, ordered, link, high := flags&1 != 0, flags&2 != 0, flags&0x7c != 0, flags&0x80 != 0
	linking, message := k.Type() == TypeLink, k == KindMessage
	switch {
	case ordered && !reliable:
		return false
	case ordered && (k.Type() == TypeConnect || k == KindDisconnect):
		return false
	case ordered && k == KindReplicate:
		return false
	case link && !(ordered && (linking || message)):
		return false
	case high && !(k == KindInit || k == KindAccept || ordered && message):
		return false
	case k == KindAccept && !reliable:
		return false
	case linking && !(reliable && ordered):
		return false
	}
	return true
}

// hasFlags reports whether a packet has a flags byte.
func hasFlags(k Kind) bool { return k.Type() != TypeSync && k != KindAck && k < KindBundle }

func TestEveryFlagsByteOfEveryPacket(t *testing.T) {
	for _, k := range allKinds {
		if !hasFlags(k) {
			continue
		}
		b := unhex(t, least[k])
		for flags := range 256 {
			b[1] = byte(flags)
			var p Packet
			want := mayHaveFlags(k, flags)
			if got := p.Parse(sideOf(k), b); got != want {
				t.Errorf("%v with flags %08b: accepted %t, want %t", k, flags, got, want)
			}
			if !want {
				if e := p.ParseErr(sideOf(k), b).(*wire.Error); e.Field != "flags" || e.Offset != 1 || e.Why == "" {
					t.Errorf("%v with flags %08b: %v", k, flags, e)
				}
				continue
			}
			high := flags&0x80 != 0
			if p.Reliable != (flags&1 != 0) || p.Ordered != (flags&2 != 0) || int(p.OrderLink) != flags>>2&31 ||
				p.More != (high && k == KindMessage) || p.Extended != (high && k != KindMessage) {
				t.Errorf("%v with flags %08b: got %+v", k, flags, p)
			}
			if got := p.AppendTo(nil); !bytes.Equal(got, b) {
				t.Errorf("%v with flags %08b is written as %x", k, flags, got)
			}
		}
	}
}

// What no vector says, rule by rule of the specification's page.
func TestAccepted(t *testing.T) {
	for _, tt := range []struct {
		name  string
		from  Side
		hex   string
		check func(p *Packet) bool
		again string // what is written, if it is not what was read
	}{
		{"a reject of the printed 5 bytes has an empty reason, and we write its size", FromServer, "00 00 0100 02",
			func(p *Packet) bool { return p.Kind == KindReject && len(p.Reason) == 0 && p.ReasonText() == "" }, "00 00 0100 02 00"},
		{"a reject may be reliable and have any sequence", FromServer, "00 01 ffff 02 00",
			func(p *Packet) bool { return p.Reliable && p.Sequence == 65535 }, ""},
		{"reliable on an init asks for nothing and is no fault", FromClient, "00 01 0000 00",
			func(p *Packet) bool { return p.Reliable && !p.Extended }, ""},
		{"an accept of one of our peers", FromServer, "00 81 0100 01 0807060504030201 1817161514131211 24232221",
			func(p *Packet) bool {
				return p.Extended && p.Received == 0x0102030405060708 && p.Sent == 0x1112131415161718 && p.SyncInterval == 0x21222324
			}, ""},
		{"the longest reason", FromServer, "01 00 0000 ff" + strings.Repeat("61", 255),
			func(p *Packet) bool { return p.ReasonText() == strings.Repeat("a", 255) }, ""},
		{"bad bytes in a reason are replaced one by one when it is shown", FromServer, "01 00 0000 08 61 ff fe c3a9 e282 62",
			func(p *Packet) bool { return p.ReasonText() == "a\ufffd\ufffdé\ufffd\ufffdb" }, ""},
		{"the largest order link", FromClient, "04 7f 0000 0000", func(p *Packet) bool { return p.OrderLink == 31 }, ""},
		{"a message from a server", FromServer, "06 ff 0102 0807060504030201 02 c3a9 0100 00",
			func(p *Packet) bool {
				return p.More && p.OrderLink == 31 && p.Sequence == 0x0201 && p.Time == 0x0102030405060708 && string(p.Name) == "é" && len(p.Data) == 1
			}, ""},
		{"a name with a NUL is UTF-8", FromClient, "06 00 0000 0000000000000000 01 00 0000",
			func(p *Packet) bool { return string(p.Name) == "\x00" }, ""},
		{"the longest data of a message", FromClient, "06 00 0000 0000000000000000 00 ffff" + strings.Repeat("00", 65535),
			func(p *Packet) bool { return len(p.Data) == 65535 }, ""},
		{"link ids may repeat in a table", FromServer, "04 03 0000 0100 02 02 0100 00 00 0100 00 00 0100 00 02 01 00 00 01 00 00 0100 00 00",
			func(p *Packet) bool { return !p.Table.Empty() }, ""},
		{"a variable link over 255 in a replicate is well formed", FromServer, "05 00 0000 0000000000000000 01 00 0000 01 0001 01 00 00",
			func(p *Packet) bool {
				for v := range p.Values.EntityValues() {
					return v.Variable == 256
				}
				return false
			}, ""},
		{"64 packets in a bundle", FromClient, "07" + strings.Repeat("0300030201", 64),
			func(p *Packet) bool { return p.Kind == KindBundle && len(p.Bundle.body) == 320 }, ""},
		{"1,024 numbers in a bundle", FromServer, "07 0300 030000 0500 080100ff03",
			func(p *Packet) bool { return p.Kind == KindBundle }, ""},
		{"a run past the last number", FromServer, "08 ffff 0004",
			func(p *Packet) bool { return p.Acked == 65535 && p.Count == 1024 }, ""},
		{"links may repeat in a replicate, and lead to nothing", FromServer, "05 01 0000 0000000000000000 02 02 0100 00 0100 01 0100 00 0500 00 0500 00",
			func(p *Packet) bool { return p.Reliable && !p.Values.Empty() }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.hex)
			var p Packet
			if err := p.ParseErr(tt.from, b); err != nil || !p.Parse(tt.from, b) {
				t.Fatalf("%.80x: %v", b, err)
			}
			if !tt.check(&p) {
				t.Errorf("%.80x: got %+v", b, p)
			}
			want := b
			if tt.again != "" {
				want = unhex(t, tt.again)
			}
			if got := p.AppendTo(nil); !bytes.Equal(got, want) {
				t.Errorf("wrote %.80x, want %.80x", got, want)
			}
		})
	}
}

// What no vector says, and what is said of it.
func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		from Side
		hex  string
		want string
	}{
		{"nothing", FromClient, "", "packet type: 1 byte wanted at offset 0, 0 left"},
		{"the largest type", FromClient, "ff", "packet type: no such packet type at offset 0"},
		{"a connection block of another type", FromServer, "00 00 0100 03", "connection type: no such connection block at offset 4"},
		{"an init without its block", FromClient, "00 00 0000", "connection type: 1 byte wanted at offset 4, 0 left"},
		{"an init with a high sequence byte", FromClient, "00 00 0001 00", "sequence: an init's is always 0 at offset 2"},
		{"an accept with sequence 0", FromServer, "00 01 0000 01" + strings.Repeat("00", 20), "sequence: an accept's is always 1 at offset 2"},
		{"an accept with sequence 257", FromServer, "00 01 0101 01" + strings.Repeat("00", 20), "sequence: an accept's is always 1 at offset 2"},
		{"an accept without its interval", FromServer, "00 01 0100 01" + strings.Repeat("00", 16), "sync interval: 4 bytes wanted at offset 21, 0 left"},
		{"an accept and a byte", FromServer, "00 01 0100 01" + strings.Repeat("00", 21), "1 byte left over at offset 25"},
		{"a reject with more than its reason", FromServer, "00 00 0100 02 01 61 62", "1 byte left over at offset 7"},
		{"a reject without its reason", FromServer, "00 00 0100 02 01", "reason: 1 byte wanted at offset 6, 0 left"},
		{"a disconnect without a size", FromServer, "01 00 0000", "reason size: 1 byte wanted at offset 4, 0 left"},
		{"a size from a client, and nothing behind it", FromClient, "01 00 0000 01", "reason size: a client gives no reason at offset 4"},
		{"a reason from a client without a size", FromClient, "01 00 0000 00 61", "1 byte left over at offset 5"},
		{"a sync without its block", FromServer, "02 0000", "sync type: 1 byte wanted at offset 3, 0 left"},
		{"a sync.init and a byte", FromServer, "02 0000 00 00", "1 byte left over at offset 4"},
		{"a sync.ack cut short", FromClient, "02 0000 01 0000 0000000000000000 00", "received: 8 bytes wanted at offset 14, 1 left"},
		{"an ack cut short", FromClient, "03 00", "acknowledged sequence: 2 bytes wanted at offset 1, 1 left"},
		{"a linking block of one byte", FromClient, "04 03 0000 00", "link type: 2 bytes wanted at offset 4, 1 left"},
		{"a linking block that is right in its low byte", FromClient, "04 03 0000 0001", "link type: no such linking block at offset 4"},
		{"a link.init and a byte", FromClient, "04 03 0000 0000 00", "1 byte left over at offset 6"},
		{"a link.reject and a table", FromClient, "04 03 0000 0300 0000", "2 bytes left over at offset 6"},
		{"a table without its second count", FromServer, "04 03 0000 0100 00", "entity count: 1 byte wanted at offset 7, 0 left"},
		{"more variables than there can be", FromServer, "04 03 0000 0100 02 00 0000 00 00 0000 00", "variables: 8 bytes wanted at offset 8, 7 left"},
		{"more entities than there can be", FromServer, "04 03 0000 0100 00 ff 000000", "entities: 1020 bytes wanted at offset 8, 3 left"},
		{"the second of two names is not UTF-8", FromServer, "04 03 0000 0100 02 00 0100 00 01 61 0200 00 02 61ff", "variables[1].name: not UTF-8 at offset 18"},
		{"an entity's name is not UTF-8", FromServer, "04 03 0000 0100 00 01 0100 03 61e282 00", "entities[0].name: not UTF-8 at offset 12"},
		{"the first type that is none, in an entity", FromServer, "04 03 0000 0100 00 01 0100 00 01 00 0b 00", "entities[0].variables[0].data type: no such data type at offset 13"},
		{"a type over all in an entity", FromServer, "04 03 0000 0100 00 01 0100 00 01 00 ff 00", "entities[0].variables[0].data type: no such data type at offset 13"},
		{"a name in an entity is not UTF-8", FromServer, "04 03 0000 0100 00 01 0100 00 01 00 00 02 c328", "entities[0].variables[0].name: not UTF-8 at offset 15"},
		{"a surrogate in a name", FromClient, "06 00 0000 0000000000000000 03 eda080 0000", "name: not UTF-8 at offset 13"},
		{"an overlong NUL in a name", FromClient, "06 00 0000 0000000000000000 02 c080 0000", "name: not UTF-8 at offset 13"},
		{"a replicate with its lists cut off", FromServer, "05 00 0000 0000000000000000 01 00 0000 01", "entities[0].variables: 3 bytes wanted at offset 17, 0 left"},
		{"a value that runs past the end", FromServer, "05 00 0000 0000000000000000 01 00 0000 01 0000 02 00 00 00 01", "entities[0].variables[0].values[1].data: 1 byte wanted at offset 24, 0 left"},
		{"more values than there can be", FromServer, "05 00 0000 0000000000000000 01 00 0000 01 0000 02 00 00 00", "entities[0].variables[0].values: 4 bytes wanted at offset 20, 3 left"},
		{"the second variable runs past the end", FromServer, "05 00 0000 0000000000000000 00 02 0000 00 0000 01", "variables[1].data: 1 byte wanted at offset 20, 0 left"},
		{"a replicate and a byte", FromServer, "05 00 0000 0000000000000000 00 00 00", "1 byte left over at offset 14"},
		{"a message whose name hides its size", FromClient, "06 00 0000 0000000000000000 01 61", "data size: 2 bytes wanted at offset 14, 0 left"},
		{"a bundle of nothing", FromClient, "07", "packets[0].packet size: 2 bytes wanted at offset 1, 0 left"},
		{"a bundle with half a size", FromClient, "07 0300 030201 03", "packets[1].packet size: 2 bytes wanted at offset 6, 1 left"},
		{"a packet past the end of its bundle", FromClient, "07 0500 030201", "packets[0].packet: 5 bytes wanted at offset 3, 3 left"},
		{"a packet of two bytes in a bundle", FromClient, "07 0200 0302", "packets[0].packet size: no packet is that small at offset 1"},
		{"no packet in a bundle", FromClient, "07 0300 030201 0000", "packets[1].packet size: no packet is that small at offset 6"},
		{"a bundle in a bundle", FromClient, "07 0600 070300030201", "packets[0].packet type: a bundle in a bundle at offset 3"},
		{"an init in a bundle", FromClient, "07 0500 0000000000", "packets[0].packet type: what begins or ends a connection is in no bundle at offset 3"},
		{"a disconnect in a bundle", FromServer, "07 0300 030201 0500 0100000000", "packets[1].packet type: what begins or ends a connection is in no bundle at offset 8"},
		{"an unknown type in a bundle", FromClient, "07 0300 090201", "packets[0].packet type: no such packet type at offset 3"},
		{"an ack and a byte in a bundle", FromClient, "07 0400 03020100 0300 030201", "1 byte left over at offset 6"},
		{"a sync.ack cut short in a bundle", FromClient, "07 0400 02000001 0300 030201", "packets[0].acknowledged sequence: 2 bytes wanted at offset 7, 0 left"},
		{"a server's packet in a client's bundle", FromClient, "07 0300 030201 0400 02000000", "packets[1].sync type: only a server sends this packet at offset 11"},
		{"a wrong flag in a bundle", FromClient, "07 0f00 06 02 0000 0000000000000000 00 0000", "packets[0].flags: ordered but not reliable at offset 4"},
		{"a value past the end in a bundle", FromServer, "07 1100 05 00 0000 0000000000000000 00 01 0000 01 0300 030201", "packets[0].variables[0].data: 1 byte wanted at offset 20, 0 left"},
		{"65 packets in a bundle", FromClient, "07" + strings.Repeat("0300030201", 65), "packets: a bundle has 64 packets at most at offset 321"},
		{"two runs of more than 1,024 numbers in all", FromClient, "07 0500 0800000004 0500 0800000100", "packets: a bundle acknowledges 1,024 numbers at most at offset 15"},
		{"a run and an ack of more than 1,024 numbers", FromClient, "07 0300 030000 0500 0800000004", "packets: a bundle acknowledges 1,024 numbers at most at offset 13"},
		{"a run of none", FromClient, "08 0700 0000", "count: a run has 1 to 1,024 numbers at offset 3"},
		{"a run of too many", FromClient, "08 0700 0104", "count: a run has 1 to 1,024 numbers at offset 3"},
		{"a run cut short", FromClient, "08 0700 01", "count: 2 bytes wanted at offset 3, 1 left"},
		{"a run and a byte", FromClient, "08 0700 0100 00", "1 byte left over at offset 5"},
		{"a message with more than its data", FromClient, "06 00 0000 0000000000000000 00 0100 0000", "1 byte left over at offset 16"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.hex)
			p := Packet{Kind: KindMessage}
			if p.Parse(tt.from, b) || p.Kind != 0 {
				t.Errorf("%x is accepted as %+v", b, p)
			}
			if got := p.ParseErr(tt.from, b); got == nil || got.Error() != tt.want {
				t.Errorf("%x:\ngot  %v\nwant %s", b, got, tt.want)
			}
		})
	}
}

// Parse leaves nothing of the packet that was in the struct before.
func TestParseForgets(t *testing.T) {
	for _, before := range readVectors(t) {
		for _, k := range allKinds {
			var fresh, used Packet
			used.Parse(sender(before), before.Bytes)
			b := unhex(t, least[k])
			if !fresh.Parse(sideOf(k), b) || !used.Parse(sideOf(k), b) {
				t.Fatalf("%x is refused", b)
			}
			if !sameFixed(&fresh, &used) || len(used.Reason)+len(used.Name)+len(used.Data) != 0 || !used.Table.Empty() || !used.Values.Empty() ||
				!bytes.Equal(used.Bundle.body, fresh.Bundle.body) {
				t.Errorf("%v after %s: got %+v, want %+v", k, before.Name, used, fresh)
			}
		}
	}
}

// What Parse finds can be appended to without writing into the packet.
func TestPartsHaveNoRoomBehindThem(t *testing.T) {
	var p Packet
	for _, v := range readVectors(t) {
		if v.Error != "" || !p.Parse(sender(v), v.Bytes) {
			continue
		}
		for _, part := range [][]byte{p.Reason, p.Name, p.Data} {
			if len(part) != cap(part) {
				t.Errorf("%s: %q has room for %d", v.Name, part, cap(part))
			}
		}
	}
}

// AppendTo has no error to return: what does not fit is the caller's mistake.
func TestAppendToPanicsOnWhatDoesNotFit(t *testing.T) {
	long := make([]byte, 256)
	for name, p := range map[string]Packet{
		"no kind":              {},
		"a kind that is none":  {Kind: KindAckRun + 1},
		"a long name":          {Kind: KindMessage, Name: long},
		"long data":            {Kind: KindMessage, Data: make([]byte, 65536)},
		"a long reason":        {Kind: KindDisconnect, Reason: long},
		"a reject's":           {Kind: KindReject, Reason: long},
		"an order link":        {Kind: KindMessage, OrderLink: 32},
		"a linking order link": {Kind: KindLinkInit, OrderLink: 32},
	} {
		wantPanic(t, name, func() { p.AppendTo(nil) })
	}
}

func wantPanic(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		if text, ok := recover().(string); !ok || !strings.HasPrefix(text, "replica: ") {
			t.Errorf("%s: no panic with a sentence, but %q", name, text)
		}
	}()
	f()
}

// Fields that are not the kind's own do not reach the wire.
func TestAppendToWritesTheFieldsOfItsKind(t *testing.T) {
	for _, k := range allKinds {
		p := Packet{Kind: k, More: k != KindMessage, Extended: k != KindInit && k != KindAccept, Acked: 7, Sent: 7, Received: 7, Time: 7, SyncInterval: 7}
		b := unhex(t, least[k])
		// The fields that are the kind's own are 0 in the least packet.
		switch k {
		case KindAccept, KindSyncAck, KindAck, KindReplicate, KindMessage, KindAckRun:
			p.Acked, p.Sent, p.Received, p.Time, p.SyncInterval = 0, 0, 0, 0, 0
		}
		var q Packet
		q.Parse(sideOf(k), b)
		p.Reliable, p.Ordered, p.Sequence, p.Count, p.Bundle = q.Reliable, q.Ordered, q.Sequence, q.Count, q.Bundle
		if got := p.AppendTo(nil); !bytes.Equal(got, b) {
			t.Errorf("%v: wrote %x, want %x", k, got, b)
		}
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		Type(0).String(): "connect", Type(6).String(): "message", Type(8).String(): "ack.run", Type(9).String(): "type 9",
		Kind(0).String(): "kind 0", Kind(16).String(): "kind 16", KindLinkTable.String(): "link.table",
		Side(0).String(): "unset", FromClient.String(): "client", FromServer.String(): "server", fromBoth.String(): "unset",
		DataType(0).String(): "char", DataChars.String(): "char[]", DataType(11).String(): "data type 11",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// "Replicated data whose size is not that of its linked type is bad input."
func TestDataTypesFit(t *testing.T) {
	sizes := []int{1, 1, 2, 2, 4, 4, 8, 8, 4, 8, -1, -1}
	for i, size := range sizes {
		d := DataType(i)
		if d.Size() != size {
			t.Errorf("%v has %d bytes, want %d", d, d.Size(), size)
		}
		for n := -1; n <= 300; n++ {
			want := n == size && size > 0 || d == DataChars && n >= 0 && n <= 255
			if d.Fits(n) != want {
				t.Errorf("%d bytes as %v: %t, want %t", n, d, d.Fits(n), want)
			}
		}
	}
}

// T7: floats that would poison what they are added to are found.
func TestFiniteValues(t *testing.T) {
	promise.Keeps(t, "T7", "replica", 1)
	for _, tt := range []struct {
		name string
		v    float64
		want bool
	}{
		{"zero", 0, true}, {"minus zero", math.Copysign(0, -1), true}, {"largest", math.MaxFloat64, true},
		{"denormal", math.SmallestNonzeroFloat64, true}, {"infinity", math.Inf(1), false}, {"minus infinity", math.Inf(-1), false},
		{"not a number", math.NaN(), false}, {"a NaN of another kind", math.Float64frombits(0xfff0_0000_0000_0001), false},
	} {
		v32 := float32(tt.v)
		switch tt.name {
		case "largest":
			v32 = math.MaxFloat32
		case "denormal":
			v32 = math.SmallestNonzeroFloat32
		}
		if got := DataDouble.Finite(wire.AppendLittleF64(nil, tt.v)); got != tt.want {
			t.Errorf("%s as a double: %t", tt.name, got)
		}
		if got := DataFloat.Finite(wire.AppendLittleF32(nil, v32)); got != tt.want {
			t.Errorf("%s as a float: %t", tt.name, got)
		}
		for _, d := range []DataType{DataInt64, DataUint64, DataChars} {
			if !d.Finite(wire.AppendLittleF64(nil, tt.v)) {
				t.Errorf("%s as %v is said to be no number", tt.name, d)
			}
		}
	}
}

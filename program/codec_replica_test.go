package program

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/protocol/replica/core"
)

// What the vectors leave out, both ways. Where decode forgives, encode writes what
// we send.
func TestReplicaBothWays(t *testing.T) {
	for _, tt := range []struct{ name, from, hex, json, sent string }{
		{"a reliable init", "client", "0001000000", `{"packet":"connect.init","reliable":true,"ordered":false,"sequence":0}`, ""},
		{"an accept of our own", "server", "008101000100000000000000000000000000000000ffffffff",
			`{"packet":"connect.accept","reliable":true,"ordered":false,"sequence":1,"received":0,"sent":0,"sync_interval_us":4294967295,"extended":true}`, ""},
		{"a reject of 5 bytes", "server", "0000010002", `{"packet":"connect.reject","reliable":false,"ordered":false,"sequence":1,"reason":""}`, "000001000200"},
		{"bad bytes in a reason", "server", "010000000361ff62", `{"packet":"disconnect","reliable":false,"ordered":false,"sequence":0,"reason":"a\ufffdb"}`, "010000000561efbfbd62"},
		{"signs of web pages in a reason", "server", "0100000003263c3e", `{"packet":"disconnect","reliable":false,"ordered":false,"sequence":0,"reason":"&<>"}`, ""},
		{"an order link of linking", "client", "047fffff0000", `{"packet":"link.init","reliable":true,"ordered":true,"sequence":65535,"order_link":31}`, ""},
		{"an order link of a table", "server", "0407000001000000", `{"packet":"link.table","reliable":true,"ordered":true,"sequence":0,"order_link":1,"variables":[],"entities":[]}`, ""},
		{"every data type", "server", "040300000100" + "0b00" +
			"000000000100010002000200030003000400040005000500060006000700070008000800090009000a000a00",
			`{"packet":"link.table","reliable":true,"ordered":true,"sequence":0,"variables":[` +
				`{"link":0,"type":"char","name":""},{"link":1,"type":"uchar","name":""},{"link":2,"type":"short","name":""},` +
				`{"link":3,"type":"ushort","name":""},{"link":4,"type":"int","name":""},{"link":5,"type":"uint","name":""},` +
				`{"link":6,"type":"int64","name":""},{"link":7,"type":"uint64","name":""},{"link":8,"type":"float","name":""},` +
				`{"link":9,"type":"double","name":""},{"link":10,"type":"char[]","name":""}],"entities":[]}`, ""},
		{"links that lead to nothing", "server", "0500000000000000000000000201" + "010000" + "020001" + "030100" + "040000",
			`{"packet":"replicate","reliable":false,"ordered":false,"sequence":0,"timestamp":0,"entities":[{"link":1,"variables":[]},` +
				`{"link":2,"variables":[{"link":259,"values":[]}]}],"variables":[{"link":4,"data":""}]}`, ""},
		{"a bundle of a table and values", "server", "070800" + "0403000001000000" + "0e00" + "0500000000000000000000000000",
			`{"packet":"bundle","packets":[{"packet":"link.table","reliable":true,"ordered":true,"sequence":0,"variables":[],"entities":[]},` +
				`{"packet":"replicate","reliable":false,"ordered":false,"sequence":0,"timestamp":0,"entities":[],"variables":[]}]}`, ""},
		{"the largest numbers", "server", "06ffffffffffffffffffffff000000", `{"packet":"message","reliable":true,"ordered":true,"sequence":65535,` +
			`"timestamp":18446744073709551615,"name":"","data":"","order_link":31,"more":true}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := convertOne("decode", "replica", tt.from, "", tt.hex)
			if got.status != exitOK || got.err != "" || !equalJSON(t, got.out, tt.json) {
				t.Errorf("got %+v, want %s", got, tt.json)
			}
			want := tt.hex
			if tt.sent != "" {
				want = tt.sent
			}
			convertOne("encode", "replica", tt.from, "", tt.json).want(t, result{exitOK, want + "\n", ""})
		})
	}
}

// Fields that are absent or null are zero.
func TestReplicaEncodeOfWhatIsAbsent(t *testing.T) {
	for _, tt := range []struct{ name, from, json, want string }{
		{"init", "client", `{"packet":"connect.init"}`, "0000000000"},
		{"reject", "server", `{"packet":"connect.reject"}`, "000000000200"},
		{"disconnect", "client", `{"packet":"disconnect","reason":null}`, "0100000000"},
		{"sync.ack", "client", `{"packet":"sync.ack"}`, "02000001" + strings.Repeat("00", 18)},
		{"ack", "client", `{"packet":"ack"}`, "030000"},
		{"link.table", "server", `{"packet":"link.table","reliable":true,"ordered":true,"variables":null,"entities":[{}]}`, "0403000001000001" + "00000000"},
		{"replicate", "server", `{"packet":"replicate","entities":[{"variables":[{"values":[{}]}]}]}`, "050000000000000000000000" + "0100" + "000001" + "000001" + "0000"},
		{"message", "server", `{"packet":"message","data":"AB"}`, "060000000000000000000000" + "00" + "0100ab"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			convertOne("encode", "replica", tt.from, "", tt.json).want(t, result{exitOK, tt.want + "\n", ""})
		})
	}
}

// Encode makes nothing that decode would refuse, and drops nothing that it was told.
func TestReplicaEncodeRefuses(t *testing.T) {
	list := func(n int, element string) string { return "[" + strings.Repeat(element+",", n-1) + element + "]" }
	table := func(rest string) string { return `{"packet":"link.table","reliable":true,"ordered":true,` + rest + `}` }
	long := strings.Repeat("é", 128)
	for _, tt := range []struct{ name, from, json, want string }{
		{"no packet", "client", `{}`, `packet: the field is missing; it must be connect.init, `},
		{"an unknown packet", "client", `{"packet":"connect"}`, `packet: no packet is named "connect"`},
		{"a packet that is a number", "client", `{"packet":3}`, "packet: must be of type string, not number"},
		{"a misspelt field", "client", `{"packet":"ack","ackd":1}`, `json: unknown field "ackd"`},
		{"a field of another packet", "client", `{"packet":"ack","sequence":1}`, "sequence: ack has no such field"},
		{"a sequence out of range", "client", `{"packet":"message","sequence":65536}`, "sequence: must be of type uint16, not number 65536"},
		{"a flag that is a number", "client", `{"packet":"message","reliable":1}`, "reliable: must be of type bool, not number"},
		{"an init from a server", "server", `{"packet":"connect.init"}`, "connection type: only a client sends this packet at offset 4"},
		{"an init with a sequence", "client", `{"packet":"connect.init","sequence":1}`, "sequence: an init's is always 0 at offset 2"},
		{"an accept that is not reliable", "server", `{"packet":"connect.accept","sequence":1}`, "flags: an accept is always reliable at offset 1"},
		{"an extended reject", "server", `{"packet":"connect.reject","extended":true}`, "extended: connect.reject has no such field"},
		{"a client's reason", "client", `{"packet":"disconnect","reason":"x"}`, "reason size: a client gives no reason at offset 4"},
		{"a long reason", "server", `{"packet":"disconnect","reason":"` + long + `"}`, "reason: 256 is over the limit of 255"},
		{"a link that is not ordered", "client", `{"packet":"link.init","reliable":true}`, "flags: linking is always reliable and ordered at offset 1"},
		{"an order link over 31", "client", `{"packet":"link.init","reliable":true,"ordered":true,"order_link":32}`, "order_link: 32 is over the limit of 31"},
		{"a table's order link over 31", "server", table(`"order_link":255`), "order_link: 255 is over the limit of 31"},
		{"an order link without order", "client", `{"packet":"message","order_link":1}`, "flags: an order link (bits 2 to 6) without an order at offset 1"},
		{"a message's order link over 31", "client", `{"packet":"message","reliable":true,"ordered":true,"order_link":32}`, "order_link: 32 is over the limit of 31"},
		{"more without order", "client", `{"packet":"message","reliable":true,"more":true}`, "flags: bit 7 says nothing in this packet at offset 1"},
		{"too many variables", "server", table(`"variables":` + list(256, `{"type":"int"}`)), "variables: 256 is over the limit of 255"},
		{"too many entities", "server", table(`"entities":` + list(256, `{}`)), "entities: 256 is over the limit of 255"},
		{"an unknown data type", "server", table(`"variables":[{"type":"int"},{"type":"bool"}]`), `variables[1].type: no data type is named "bool"`},
		{"a long variable name", "server", table(`"variables":[{"type":"int","name":"` + long + `"}]`), "variables[0].name: 256 is over the limit of 255"},
		{"a long entity name", "server", table(`"entities":[{"name":"` + long + `"}]`), "entities[0].name: 256 is over the limit of 255"},
		{"too many variables of an entity", "server", table(`"entities":[{"variables":` + list(256, `{"type":"int"}`) + `}]`), "entities[0].variables: 256 is over the limit of 255"},
		{"a link of two bytes in an entity", "server", table(`"entities":[{"variables":[{"link":256,"type":"int"}]}]`), "entities[0].variables[0].link: 256 is over the limit of 255"},
		{"an unknown type in an entity", "server", table(`"entities":[{"variables":[{}]}]`), `entities[0].variables[0].type: no data type is named ""`},
		{"a link that is a text", "server", table(`"entities":[{"link":"1"}]`), "entities[0].link: must be of type uint16, not string"},
		{"an ordered replicate", "server", `{"packet":"replicate","reliable":true,"ordered":true}`, "flags: this packet is never ordered at offset 1"},
		{"too many entity links", "server", `{"packet":"replicate","entities":` + list(256, `{}`) + `}`, "entities: 256 is over the limit of 255"},
		{"too many values", "server", `{"packet":"replicate","variables":` + list(256, `{}`) + `}`, "variables: 256 is over the limit of 255"},
		{"too many variable links", "server", `{"packet":"replicate","entities":[{"variables":` + list(256, `{}`) + `}]}`, "entities[0].variables: 256 is over the limit of 255"},
		{"too many values of a variable", "server", `{"packet":"replicate","entities":[{"variables":[{"values":` + list(256, `{}`) + `}]}]}`, "entities[0].variables[0].values: 256 is over the limit of 255"},
		{"a long value", "server", `{"packet":"replicate","variables":[{"data":"` + strings.Repeat("00", 256) + `"}]}`, "variables[0].data: 256 is over the limit of 255"},
		{"a value that is not hex", "server", `{"packet":"replicate","entities":[{"variables":[{"values":[{"data":"0g"}]}]}]}`, "entities[0].variables[0].values[0].data: encoding/hex: invalid byte"},
		{"a variable's value that is not hex", "server", `{"packet":"replicate","variables":[{"data":"0"}]}`, "variables[0].data: encoding/hex: odd length"},
		{"an entity over 255", "server", `{"packet":"replicate","entities":[{"variables":[{"values":[{"entity":256}]}]}]}`, "entities[0].variables[0].values[0].entity: must be of type uint8, not number 256"},
		{"a bundle of nothing", "client", `{"packet":"bundle"}`, "packets[0].packet size: 2 bytes wanted at offset 1, 0 left"},
		{"too many packets", "client", `{"packet":"bundle","packets":` + list(65, `{"packet":"ack"}`) + `}`, "packets: 65 is over the limit of 64"},
		{"a bundle in a bundle", "client", `{"packet":"bundle","packets":[{"packet":"bundle","packets":[{"packet":"ack"}]}]}`, "packets[0].packet type: a bundle in a bundle at offset 3"},
		{"a bundled packet with a wrong field", "client", `{"packet":"bundle","packets":[{"packet":"ack"},{"packet":"ack","first":1}]}`, "packets[1].first: ack has no such field"},
		{"a bundled packet that is too long", "client", `{"packet":"bundle","packets":[{"packet":"message","data":"` + strings.Repeat("00", 65530) + `"}]}`, "packets[0].size: 65545 is over the limit of 65535"},
		{"a run of none", "client", `{"packet":"ack.run","first":7}`, "count: a run has 1 to 1,024 numbers at offset 3"},
		{"a long message name", "client", `{"packet":"message","name":"` + long + `"}`, "name: 256 is over the limit of 255"},
		{"long data", "client", `{"packet":"message","data":"` + strings.Repeat("00", 65536) + `"}`, "data: 65536 is over the limit of 65535"},
		{"data that is not hex", "client", `{"packet":"message","data":"zz"}`, "data: encoding/hex: invalid byte"},
	} {
		wantRefused(t, tt.name, convertOne("encode", "replica", tt.from, "", tt.json), tt.want)
	}
}

// Whatever decode shows, encode makes the same bytes of it: vectors with bytes
// changed at random.
func TestReplicaShownPacketsAreMadeAgain(t *testing.T) {
	text, err := os.ReadFile("../protocol/replica/core/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	const seed = 0x5eed
	t.Logf("seed=%d", seed)
	r, shown := rand.New(rand.NewPCG(seed, 0)), 0
	for i := range 20_000 {
		v := vectors[i%len(vectors)]
		b, err := hex.DecodeString(v.Hex)
		if err != nil {
			t.Fatal(err)
		}
		for range r.IntN(3) {
			if len(b) > 0 {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
		}
		from := sideClient
		if v.From == "server" {
			from = sideServer
		}
		packet, err := replicaCodec.Decode(from, "", b)
		if err != nil {
			continue
		}
		shown++
		line, err := marshalLine(packet)
		if err != nil {
			t.Fatal(err)
		}
		var p core.Packet
		p.Parse(core.Side(from), b)
		if again, err := replicaCodec.Encode(from, "", line); !bytes.Equal(again, b) && utf8.Valid(p.Reason) {
			t.Fatalf("%x is shown as %s\nand made as %x, %v", b, line, again, err)
		}
	}
	if shown < 5_000 {
		t.Errorf("only %d were packets", shown)
	}
}

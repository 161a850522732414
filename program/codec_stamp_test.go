package program

import (
	"strings"
	"testing"
)

// Encode makes nothing that decode would refuse, and drops nothing that it was told.
func TestStampEncodeRefuses(t *testing.T) {
	for _, tt := range []struct{ name, from, json, want string }{
		{"no packet", "client", `{}`, `packet: the field is missing; it must be connect.init, connect.accept, connect.disconnect, ack or entity`},
		{"an unknown packet", "client", `{"packet":"unset"}`, `packet: no packet is named "unset"`},
		{"a misspelt field", "client", `{"packet":"ack","seqence":1}`, `json: unknown field "seqence"`},
		{"a field of the wrong type", "client", `{"packet":"ack","sequence":"1"}`, `sequence`},
		{"a sequence out of range", "client", `{"packet":"ack","sequence":65536}`, `sequence`},
		{"a sequence below zero", "client", `{"packet":"ack","sequence":-1}`, `sequence`},
		{"a time out of range", "client", `{"packet":"ack","timestamp":18446744073709551616}`, `timestamp`},
		{"an init from a server", "server", `{"packet":"connect.init"}`, "connection type: only a client asks for a connection at offset 12"},
		{"an init with a sequence", "client", `{"packet":"connect.init","sequence":1}`, "sequence: that of an init is 0 at offset 2"},
		{"an accept without one", "server", `{"packet":"connect.accept"}`, "sequence: that of an accept is 1 at offset 2"},
		{"an accept from a client", "client", `{"packet":"connect.accept","sequence":1}`, "connection type: only a server accepts at offset 12"},
		{"a reliable init", "client", `{"packet":"connect.init","reliable":true}`, "reliable: connect.init has no flags"},
		{"an ordered ack", "client", `{"packet":"ack","ordered":true}`, "ordered: ack has no flags"},
		{"an ack with data", "client", `{"packet":"ack","data":"00"}`, "data: ack has no such field"},
		{"an ack with a reason", "server", `{"packet":"ack","reason":"x"}`, "reason: ack has no such field"},
		{"a client with a reason", "client", `{"packet":"connect.disconnect","reason":"x"}`, "reason: connect.disconnect of a client has none"},
		{"a reason too long", "server", `{"packet":"connect.disconnect","reason":"` + strings.Repeat("é", 128) + `"}`, "reason: 256 is over the limit of 255"},
		{"an entity from a client", "client", `{"packet":"entity"}`, "packet type: only a server sends entities at offset 0"},
		{"an entity that is only ordered", "server", `{"packet":"entity","ordered":true}`, "flags: ordered but not reliable at offset 1"},
		{"data that is not hex", "server", `{"packet":"entity","data":"0g"}`, "data: encoding/hex: invalid byte"},
		{"data with half a byte", "server", `{"packet":"entity","data":"012"}`, "data: encoding/hex: odd length"},
		{"data too long", "server", `{"packet":"entity","data":"` + strings.Repeat("00", 1189) + `"}`, "data: size 1189 at offset 12, limit 1188"},
	} {
		wantRefused(t, tt.name, convertOne("encode", "stamp", tt.from, "", tt.json), tt.want)
	}
}

// Fields that are absent, null or empty are zero.
func TestStampEncodeOfWhatIsAbsent(t *testing.T) {
	for _, tt := range []struct{ name, from, json, want string }{
		{"init", "client", `{"packet":"connect.init"}`, "00000000000000000000000000"},
		{"a server's disconnect", "server", `{"packet":"connect.disconnect"}`, "0000000000000000000000000200"},
		{"a client's disconnect", "client", `{"packet":"connect.disconnect"}`, "00000000000000000000000002"},
		{"a client's disconnect with an empty reason", "client", `{"packet":"connect.disconnect","reason":"","sequence":null}`, "00000000000000000000000002"},
		{"ack", "server", `{"packet":"ack","data":null,"reason":""}`, "010000000000000000000000"},
		{"entity", "server", `{"packet":"entity"}`, "020000000000000000000000"},
		{"entity in upper case", "server", `{"packet":"entity","data":"AB"}`, "020000000000000000000000ab"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			convertOne("encode", "stamp", tt.from, "", tt.json).want(t, result{0, tt.want + "\n", ""})
		})
	}
}

package program

import (
	"strings"
	"testing"
)

// What decode refuses is named with its field and offset.
func TestDuplexDecodeNamesFieldAndOffset(t *testing.T) {
	for _, tt := range []struct{ name, from, channel, hex, want string }{
		{"no code", "client", "main", "", "code: 1 byte wanted at offset 0, 0 left"},
		{"code 0", "client", "main", "00", "code: no message has this code at offset 0"},
		{"code 128", "client", "main", "80", "code: no message has this code at offset 0"},
		{"code 191", "server", "feed", "ff1cec0ffeedefec0000000000000001bf", "code: no message has this code at offset 16"},
		{"a signal with a body", "client", "main", "0600", "1 byte left over at offset 1"},
		{"a token cut short", "server", "main", "03000100", "token: 4 bytes wanted at offset 3, 1 left"},
		{"an update on main", "server", "main", "0100070a", "code: an update goes on feed at offset 0"},
		{"a sync on feed", "server", "feed", "ff1cec0ffeedefec000000000000000102000700", "code: a sync goes on main at offset 16"},
		{"a wrong magic", "client", "feed", "ff1cec0ffeedefed000000000000000108", "magic: not that of the feed at offset 0"},
		{"no sequence", "client", "feed", "ff1cec0ffeedefec000000", "sequence: 8 bytes wanted at offset 8, 3 left"},
		{"sequence 0", "client", "feed", "ff1cec0ffeedefec000000000000000008", "sequence: sequences start at 1 at offset 8"},
		{"a reply without status", "server", "main", "c0", "status: 1 byte wanted at offset 1, 0 left"},
		{"a conn_init_rep from a client", "client", "main", "03000100000001", "code: only a server replies to a connection at offset 0"},
		{"a feed_init from a server", "server", "feed", "ff1cec0ffeedefec000000000000000104000100000001", "code: only a client asks for a feed at offset 16"},
		{"a feed_init_rep from a client", "client", "feed", "ff1cec0ffeedefec00000000000000010500000001", "code: only a server replies to a feed_init at offset 16"},
	} {
		wantRefused(t, tt.name, convertOne("decode", "duplex", tt.from, tt.channel, tt.hex), tt.want)
	}
}

// Encode makes nothing that decode would refuse, and drops nothing that it was told.
func TestDuplexEncodeRefuses(t *testing.T) {
	for _, tt := range []struct{ name, from, channel, json, want string }{
		{"no message", "client", "main", `{}`, `message: the field is missing; it must be update, sync,`},
		{"an unknown message", "client", "main", `{"message":{"message":"unset"}}`, `message: no message is named "unset"`},
		{"a misspelt field", "client", "main", `{"message":{"message":"signal","cod":6}}`, `json: unknown field "cod"`},
		{"a signal without a code", "client", "main", `{"message":{"message":"signal"}}`, "code: 0 is not that of a signal"},
		{"a signal with the code of a query", "client", "main", `{"message":{"message":"signal","code":64}}`, "code: 64 is not that of a signal"},
		{"a reply with the code of a query", "client", "main", `{"message":{"message":"reply","code":64}}`, "code: 64 is not that of a reply"},
		{"a code out of range", "client", "main", `{"message":{"message":"signal","code":256}}`, "code"},
		{"a sync with a code", "client", "main", `{"message":{"message":"sync","code":2}}`, "code: sync has no such field"},
		{"a signal with data", "client", "main", `{"message":{"message":"signal","code":6,"data":"00"}}`, "data: signal has no such field"},
		{"a query with a status", "client", "main", `{"message":{"message":"query","code":64,"status":1}}`, "status: query has no such field"},
		{"data that is not hex", "client", "main", `{"message":{"message":"query","code":64,"data":"0g"}}`, "data: encoding/hex: invalid byte"},
		{"a sequence on main", "client", "main", `{"feed_sequence":1,"message":{"message":"signal","code":6}}`, "feed_sequence: main has none"},
		{"no sequence on feed", "client", "feed", `{"message":{"message":"signal","code":6}}`, "sequence: sequences start at 1 at offset 8"},
		{"an update on main", "client", "main", `{"message":{"message":"update"}}`, "code: an update goes on feed at offset 0"},
		{"a sync on feed", "client", "feed", `{"feed_sequence":1,"message":{"message":"sync"}}`, "code: a sync goes on main at offset 16"},
		{"a conn_init_rep from a client", "client", "main", `{"message":{"message":"conn_init_rep"}}`, "code: only a server replies"},
		{"a player out of range", "server", "main", `{"message":{"message":"conn_init_rep","player":32768}}`, "player"},
		{"too much data", "server", "main", `{"message":{"message":"sync","data":"` + strings.Repeat("00", 65533) + `"}}`, "data: size 65533 at offset 3, limit 65532"},
	} {
		wantRefused(t, tt.name, convertOne("encode", "duplex", tt.from, tt.channel, tt.json), tt.want)
	}
}

// Fields that are absent, null or zero where a kind has none are zero.
func TestDuplexEncodeOfWhatIsAbsent(t *testing.T) {
	for _, tt := range []struct{ name, from, channel, json, want string }{
		{"sync", "client", "main", `{"message":{"message":"sync"}}`, "020000"},
		{"conn_init_rep", "server", "main", `{"message":{"message":"conn_init_rep","data":"","code":null}}`, "03000000000000"},
		{"reply", "client", "main", `{"message":{"message":"reply","code":255}}`, "ff00"},
		{"update", "client", "feed", `{"feed_sequence":9223372036854775807,"message":{"message":"update","sid":-32768}}`, "ff1cec0ffeedefec7fffffffffffffff018000"},
		{"data in upper case", "server", "main", `{"message":{"message":"query","code":64,"data":"AB"}}`, "40ab"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			convertOne("encode", "duplex", tt.from, tt.channel, tt.json).want(t, result{0, tt.want + "\n", ""})
		})
	}
}

package program

import (
	"strings"
	"testing"
)

// Encode makes nothing that decode would refuse, and drops nothing that it was told.
func TestRelayEncodeRefuses(t *testing.T) {
	for _, tt := range []struct{ name, json, want string }{
		{"no packet", `{}`, `packet: the field is missing; it must be package or confirm`},
		{"an unknown packet", `{"packet":"ack"}`, `packet: no packet is named "ack"`},
		{"a misspelt field", `{"packet":"package","to_sever":true}`, `json: unknown field "to_sever"`},
		{"an unknown mode", `{"packet":"package","mode":"ordered"}`, `mode: no mode is named "ordered"; there are unreliable, unordered and semi-ordered`},
		{"an id out of range", `{"packet":"package","id":16777216}`, "id: 16777216 is over the limit of 16777215"},
		{"an id below zero", `{"packet":"package","id":-1}`, "id"},
		{"a payload that is not hex", `{"packet":"package","payload":"0g"}`, "payload: encoding/hex: invalid byte"},
		{"a payload too long", `{"packet":"package","payload":"` + strings.Repeat("00", 505) + `"}`, "payload: size 505 at offset 4, limit 504"},
		{"a package with ids", `{"packet":"package","ids":[1]}`, "ids: package has no such field"},
		{"a confirmation with a payload", `{"packet":"confirm","ids":[1],"payload":"00"}`, "payload: confirm has no such field"},
		{"a confirmation with a mode", `{"packet":"confirm","ids":[1],"mode":"unordered"}`, "mode: confirm has no such field"},
		{"a confirmation of nothing", `{"packet":"confirm"}`, "ids: a confirmation of nothing at offset 4"},
		{"a confirmed id out of range", `{"packet":"confirm","ids":[1,16777216]}`, "ids[1]: 16777216 is over the limit of 16777215"},
		{"too many ids", `{"packet":"confirm","ids":[` + strings.Repeat("1,", 168) + `1]}`, "ids: size 507 at offset 4, limit 504"},
	} {
		wantRefused(t, tt.name, convertOne("encode", "relay", "client", "", tt.json), tt.want)
	}
}

// What the page lets a receiver ignore is not written again, and absent fields are zero.
func TestRelayWhatIsIgnoredOrAbsent(t *testing.T) {
	got := convertOne("decode", "relay", "client", "", "3f000001aa")
	want := `{"packet":"package","mode":"unordered","to_server":true,"id":1,"payload":"aa"}` + "\n"
	got.want(t, result{exitOK, want, ""})
	convertOne("encode", "relay", "client", "", want).want(t, result{exitOK, "30000001aa\n", ""})
	convertOne("encode", "relay", "client", "", `{"packet":"package"}`).want(t, result{exitOK, "00000000\n", ""})
}

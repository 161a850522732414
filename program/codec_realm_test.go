package program

import (
	"strings"
	"testing"
)

// Encode makes nothing that decode would refuse, and drops nothing that it was told.
func TestRealmEncodeRefuses(t *testing.T) {
	for _, tt := range []struct{ name, from, json, want string }{
		{"no message", "client", `{}`, `message: the field is missing; it must be ping, pong, exit`},
		{"an unknown message", "client", `{"message":"unset"}`, `message: no message is named "unset"`},
		{"a misspelt field", "client", `{"message":"version","vresion":1}`, `json: unknown field "vresion"`},
		{"a field of another message", "client", `{"message":"ping","code":1}`, `code: ping has no such field`},
		{"a version out of range", "client", `{"message":"version","version":65536}`, `version`},
		{"a login from a server", "server", `{"message":"login"}`, "type: only a client sends this message at offset 0"},
		{"exit code 8", "client", `{"message":"exit","code":8}`, "exit code: no such code at offset 1"},
		{"a no with a tick", "server", `{"message":"login_response","code":2,"tick":1}`, "tick: only code 0"},
		{"one that left with a name", "server", `{"message":"meta_action","code":1,"pseudo":"x"}`, "pseudo: only code 0"},
		{"a name that is too long", "client", `{"message":"login","pseudo":"` + strings.Repeat("é", 32768) + `"}`, "pseudo: 65536 is over the limit of 65535"},
		{"a text that is too long", "client", `{"message":"chat_send","text":"` + strings.Repeat("x", 65536) + `"}`, "text: 65536 is over the limit of 65535"},
		{"too many wanted", "client", `{"message":"terrain_request","chunks":[` + strings.Repeat(`{},`, 255) + `{}]}`, "chunks: "},
		{"an unknown attribute", "client", `{"message":"entity_update","entity":{"attributes":[{"id":9,"value":1}]}}`, "entity.attributes[0].id: no attribute has number 9"},
		{"an attribute out of range", "client", `{"message":"entity_update","entity":{"attributes":[{"id":1,"value":65536}]}}`, "entity.attributes[0].value: must be a u16, not 65536"},
		{"an attribute that is a text", "client", `{"message":"entity_update","entity":{"attributes":[{"id":1,"value":"x"}]}}`, "must be a u16, not"},
		{"an unknown action", "client", `{"message":"action_do","action":{"action":1}}`, "action.action: no action has number 1"},
		{"a parameter that is none", "client", `{"message":"action_do","action":{"angel":1}}`, "action.angel: action 0 has no such parameter"},
		{"an angle that is a text", "client", `{"message":"action_do","action":{"angle":"1"}}`, "action.angle: must be an f32, not 1"},
		{"a by of one who does", "client", `{"message":"action_do","action":{"by":1}}`, "action.by: action 0 has no such parameter"},
		{"an angle too large", "client", `{"message":"action_do","action":{"angle":1e39}}`, "action.angle: must be an f32, not 1e39"},
	} {
		wantRefused(t, tt.name, convertOne("encode", "realm", tt.from, "", tt.json), tt.want)
	}
}

// Fields that are absent are zero.
func TestRealmEncodeOfWhatIsAbsent(t *testing.T) {
	for _, tt := range []struct{ name, from, json, want string }{
		{"login", "client", `{"message":"login"}`, "0300000000"},
		{"login ok", "server", `{"message":"login_response"}`, "040000000000000000000000"},
		{"joined", "server", `{"message":"meta_action"}`, "070000000000" + "0000"},
		{"chunk", "server", `{"message":"chunk_update"}`, "08000000000000000000"},
		{"entity", "server", `{"message":"entity_create"}`, "0e0000000000"},
		{"action", "client", `{"message":"action_do"}`, "0d00000000000000000000"},
		{"an attribute", "client", `{"message":"entity_update","entity":{"attributes":[{}]}}`, "0b000000000100010000" + "0000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			convertOne("encode", "realm", tt.from, "", tt.json).want(t, result{0, tt.want + "\n", ""})
		})
	}
}

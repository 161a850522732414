package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// A stampVector may say how encode writes what decode has read, where that differs from
// the bytes that came: flags that are ignored, a reason that was not UTF-8.
type stampVector struct {
	vector
	Sent string `json:"sent"`
}

func readStampVectors(t *testing.T) (all []stampVector) {
	t.Helper()
	for _, name := range []string{"vectors.json", "more.json"} {
		text, err := os.ReadFile("../../protocol/stamp/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var vectors []stampVector
		if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) < 20 {
			t.Fatalf("%s: %d vectors, %v", name, len(vectors), err)
		}
		all = append(all, vectors...)
	}
	return all
}

// sent is the hex that encode prints for what decode prints for v.
func (v stampVector) sent() string {
	if v.Sent != "" {
		return v.Sent
	}
	return v.Hex
}

// stampRun runs the command as built, with stamp.
func stampRun(stdin, command, from string, args ...string) result {
	return runWith(builtIn(), strings.NewReader(stdin), append([]string{command, "--dialect", "stamp", "--from", from}, args...))
}

// T6: the vectors through the commands, one by one as arguments.
func TestStampVectorsAsArguments(t *testing.T) {
	for _, v := range readStampVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			got := stampRun("", "decode", v.From, v.Hex)
			if v.Packet == nil {
				if got.status != 1 || got.out != "" || !strings.HasPrefix(got.err, "parley decode: ") || !strings.Contains(got.err, " at offset ") {
					t.Errorf("%s: %+v", v.Error, got)
				}
				return
			}
			if got.status != 0 || got.err != "" || !equalJSON(t, got.out, string(v.Packet)) {
				t.Fatalf("got %+v, want %s", got, v.Packet)
			}
			stampRun("", "encode", v.From, got.out).want(t, result{0, v.sent() + "\n", ""})
			stampRun("", "encode", v.From, string(v.Packet)).want(t, result{0, v.sent() + "\n", ""})
		})
	}
}

// T6: the vectors of one side after the other, as lines.
func TestStampVectorsAsLines(t *testing.T) {
	for _, from := range []string{"client", "server"} {
		var vectors []stampVector
		var hexes strings.Builder
		for _, v := range readStampVectors(t) {
			if v.From == from {
				vectors = append(vectors, v)
				hexes.WriteString(v.Hex + "\n")
			}
		}
		got := stampRun(hexes.String(), "decode", from)
		lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
		if got.status != 0 || got.err != "" || len(lines) != len(vectors) {
			t.Fatalf("status %d, %q, %d lines for %d vectors", got.status, got.err, len(lines), len(vectors))
		}
		var packets, want strings.Builder
		for i, v := range vectors {
			if v.Packet == nil {
				if !strings.HasPrefix(lines[i], `{"error":"`) {
					t.Errorf("%s: got %s", v.Name, lines[i])
				}
				continue
			}
			if !equalJSON(t, lines[i], string(v.Packet)) {
				t.Errorf("%s: got %s, want %s", v.Name, lines[i], v.Packet)
			}
			packets.WriteString(lines[i] + "\n")
			want.WriteString(v.sent() + "\n")
		}
		stampRun(packets.String(), "encode", from).want(t, result{0, want.String(), ""})
	}
}

// Encode makes nothing that decode would refuse, and drops nothing that it was told.
func TestStampEncodeRefuses(t *testing.T) {
	for _, tt := range []struct{ name, from, json, want string }{
		{"no packet", "client", `{}`, `packet: no packet is named ""; there are connect.init, connect.accept, connect.disconnect, ack and entity`},
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
		{"an ack with data", "client", `{"packet":"ack","data":"00"}`, "data: ack has none"},
		{"an ack with a reason", "server", `{"packet":"ack","reason":"x"}`, "reason: ack of a server has none"},
		{"a client with a reason", "client", `{"packet":"connect.disconnect","reason":"x"}`, "reason: connect.disconnect of a client has none"},
		{"a reason too long", "server", `{"packet":"connect.disconnect","reason":"` + strings.Repeat("é", 128) + `"}`, "reason: size 256, limit 255"},
		{"an entity from a client", "client", `{"packet":"entity"}`, "packet type: only a server sends entities at offset 0"},
		{"an entity that is only ordered", "server", `{"packet":"entity","ordered":true}`, "flags: ordered but not reliable at offset 1"},
		{"data that is not hex", "server", `{"packet":"entity","data":"0g"}`, "data: encoding/hex: invalid byte"},
		{"data with half a byte", "server", `{"packet":"entity","data":"012"}`, "data: encoding/hex: odd length"},
		{"data too long", "server", `{"packet":"entity","data":"` + strings.Repeat("00", 1189) + `"}`, "data: size 1189 at offset 12, limit 1188"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := stampRun("", "encode", tt.from, tt.json)
			if got.status != 1 || got.out != "" || !strings.Contains(got.err, tt.want) {
				t.Errorf("got %+v, want %q", got, tt.want)
			}
		})
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
			stampRun("", "encode", tt.from, tt.json).want(t, result{0, tt.want + "\n", ""})
		})
	}
}

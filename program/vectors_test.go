package program

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"parley/internal/promise"
)

// A vector is a packet in bytes and in JSON, or bytes that are none. They were
// made by hand from the dialects' documents, not by an encoder of ours.
type vector struct {
	Name    string          `json:"name"`
	From    string          `json:"from"`
	Channel string          `json:"channel"`
	Hex     string          `json:"hex"`
	Packet  json.RawMessage `json:"packet"`
	Error   string          `json:"error"` // what is wrong, in words that need not be ours

	// Sent is how encode writes what decode has read, where that differs from the bytes that came:
	// flags that are ignored, a reason that was not UTF-8.
	Sent string `json:"sent"`
}

// readVectors reads the vectors of a dialect, and those of our own if it has any.
func readVectors(t *testing.T, dialect string) (all []vector) {
	t.Helper()
	for _, name := range []string{"vectors.json", "more.json"} {
		text, err := os.ReadFile(filepath.Join("..", "protocol", dialect, "core", "testdata", name))
		if name == "more.json" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var vectors []vector
		if err == nil {
			err = json.Unmarshal(text, &vectors)
		}
		if err != nil || len(vectors) < 10 {
			t.Fatalf("%s: %d vectors, %v", name, len(vectors), err)
		}
		all = append(all, vectors...)
	}
	for i := range all {
		v := &all[i]
		v.Sent = cmp.Or(v.Sent, v.Hex)
		// Of a valid packet of duplex the number of its feed says where it belongs.
		if v.Channel == "" && strings.Contains(string(v.Packet), `"feed_sequence"`) {
			v.Channel = "feed"
		}
	}
	return all
}

// args is the command line for the vector's route.
func (v vector) args(command string, c codec, more ...string) []string {
	args := append([]string{command, "--dialect", c.Name, "--from", v.From}, more...)
	if v.Channel != "" {
		args = append(args, "--channel", v.Channel)
	}
	return args
}

// T6: every built-in dialect turns its vectors into each other, both ways, through
// the commands as a user has them: one by one, and all of a route as lines.
func TestVectorsOfBuiltInDialects(t *testing.T) {
	promise.Keeps(t, "T6", "cli", 1)
	for _, c := range builtIn() {
		t.Run(c.Name, func(t *testing.T) {
			routes := map[string][]vector{}
			for _, v := range readVectors(t, c.Name) {
				routes[v.From+v.Channel] = append(routes[v.From+v.Channel], v)
				if v.Error != "" {
					wantBad(t, c, v)
				} else {
					wantGood(t, c, v)
				}
			}
			for _, vectors := range routes {
				wantLines(t, c, vectors)
			}
		})
	}
}

// wantLines gives decode all vectors of a route, and encode what it has printed.
func wantLines(t *testing.T, c codec, vectors []vector) {
	t.Helper()
	var hexes, packets, want strings.Builder
	for _, v := range vectors {
		hexes.WriteString(v.Hex + "\n")
	}
	got := runWith(builtIn(), strings.NewReader(hexes.String()), vectors[0].args("decode", c))
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	if got.status != exitOK || got.err != "" || len(lines) != len(vectors) {
		t.Fatalf("status %d, %q, %d lines for %d vectors", got.status, got.err, len(lines), len(vectors))
	}
	for i, v := range vectors {
		if v.Error != "" {
			if !strings.HasPrefix(lines[i], `{"error":"`) {
				t.Errorf("%s: got %s", v.Name, lines[i])
			}
			continue
		}
		if !equalJSON(t, lines[i], string(v.Packet)) {
			t.Errorf("%s: got %s, want %s", v.Name, lines[i], v.Packet)
		}
		packets.WriteString(lines[i] + "\n")
		want.WriteString(v.Sent + "\n")
	}
	runWith(builtIn(), strings.NewReader(packets.String()), vectors[0].args("encode", c)).want(t, result{exitOK, want.String(), ""})
}

func wantGood(t *testing.T, c codec, v vector) {
	t.Helper()
	for _, text := range []string{v.Hex, strings.ToUpper(v.Hex)} {
		got := runWith(builtIn(), nil, v.args("decode", c, text))
		if got.status != exitOK || got.err != "" || !equalJSON(t, got.out, string(v.Packet)) {
			t.Errorf("%s: %s decodes to %+v, want %s", v.Name, text, got, v.Packet)
		}
	}
	var line bytes.Buffer
	if err := json.Compact(&line, v.Packet); err != nil {
		t.Fatal(err)
	}
	got := runWith(builtIn(), &line, v.args("encode", c))
	if want := (result{exitOK, v.Sent + "\n", ""}); got != want {
		t.Errorf("%s: %s encodes to %+v, want %s", v.Name, v.Packet, got, v.Sent)
	}
}

func wantBad(t *testing.T, c codec, v vector) {
	t.Helper()
	got := runWith(builtIn(), nil, v.args("decode", c, v.Hex))
	if got.status != exitFailed || got.out != "" || !strings.Contains(got.err, "offset") || strings.Count(got.err, "\n") != 1 {
		t.Errorf("%s: %q gives %+v, want one line on what is wrong (%s) and its offset", v.Name, v.Hex, got, v.Error)
	}
	got = runWith(builtIn(), strings.NewReader(v.Hex+"\n"), v.args("decode", c))
	if got.status != exitOK || got.err != "" || !strings.HasPrefix(got.out, `{"error":"`) {
		t.Errorf("%s: the line %q gives %+v, want an error on a line", v.Name, v.Hex, got)
	}
}

// convertOne converts one packet as an argument.
func convertOne(command, dialect, from, channel, packet string) result {
	return runWith(builtIn(), nil, vector{From: from, Channel: channel}.args(command, codec{Name: dialect}, packet))
}

// wantRefused wants one line that says what is wrong, and nothing else.
func wantRefused(t *testing.T, name string, got result, want string) {
	t.Run(name, func(t *testing.T) {
		if got.status != exitFailed || got.out != "" || !strings.Contains(got.err, want) || strings.Count(got.err, "\n") != 1 {
			t.Errorf("got %+v, want %q", got, want)
		}
	})
}

// equalJSON compares values, not spelling, and numbers exactly: a float64
// would take two large integers for one.
func equalJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var values [2]any
	for i, text := range []string{a, b} {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&values[i]); err != nil {
			t.Errorf("%v in %q", err, text)
			return false
		}
		values[i] = exactNumbers(values[i])
	}
	return reflect.DeepEqual(values[0], values[1])
}

// exactNumbers replaces each number by its fraction, so that 1.50 is 3/2.
func exactNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if r, ok := new(big.Rat).SetString(v.String()); ok {
			return r.String()
		}
	case []any:
		for i := range v {
			v[i] = exactNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = exactNumbers(v[key])
		}
	}
	return v
}

func TestEqualJSON(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[2.50]}`, ` { "b" : [2.5], "a":1 }`, true},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":1}`, `{"a":1,"b":0}`, false},
		{`{"a":"1"}`, `{"a":"1"}`, true},
	} {
		if got := equalJSON(t, tt.a, tt.b); got != tt.want {
			t.Errorf("%s and %s: %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

package program

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

func TestParseHex(t *testing.T) {
	for _, tt := range []struct {
		name, text, want, err string
	}{
		{name: "nothing", text: "", want: ""},
		{name: "only a prefix", text: "0x", want: ""},
		{name: "both cases", text: "00aAfF", want: "\x00\xaa\xff"},
		{name: "a prefix in upper case", text: "0X01", want: "\x01"},
		{name: "blanks around and between bytes", text: " \t01 02\t\t0304 ", want: "\x01\x02\x03\x04"},
		{name: "a prefix after blanks, and blanks after it", text: " 0x 01", want: "\x01"},
		{name: "an odd digit at the end", text: "01 2", err: "hex: byte 1 has one digit of two at column 4"},
		{name: "a blank inside a byte", text: "0 1", err: "hex: byte 0 has one digit of two at column 1"},
		{name: "a second prefix", text: "01 0x02", err: "hex: 'x' is not a hex digit at column 5"},
		{name: "colons", text: "01:02", err: "hex: ':' is not a hex digit at column 3"},
		{name: "a wrong first digit", text: "g1", err: "hex: 'g' is not a hex digit at column 1"},
		{name: "a letter beyond ASCII is named whole", text: "0é", err: "hex: 'é' is not a hex digit at column 2"},
		{name: "a byte that is no text", text: "\xff", err: "hex: '�' is not a hex digit at column 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseHex([]byte(tt.text))
			gotErr := ""
			if err != nil {
				gotErr = err.Error()
			}
			if string(got) != tt.want || gotErr != tt.err {
				t.Errorf("parseHex(%q) = %x, %q; want %x, %q", tt.text, got, gotErr, tt.want, tt.err)
			}
		})
	}
}

// What parseHex takes is what encoding/hex takes once blanks and prefix are
// gone, and nothing that encoding/hex refuses is taken.
func FuzzParseHex(f *testing.F) {
	for _, seed := range []string{"", "0x", "00ff", " 0X 00\tFF ", "0 0", "01:02"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parseHex(text)
		bare := strings.TrimLeft(string(text), " \t")
		if prefix := bare[:min(2, len(bare))]; prefix == "0x" || prefix == "0X" {
			bare = bare[2:]
		}
		hasBlank := strings.ContainsAny(bare, " \t")
		want, wantErr := hex.DecodeString(strings.NewReplacer(" ", "", "\t", "").Replace(bare))
		if err == nil && (wantErr != nil || !bytes.Equal(got, want)) {
			t.Errorf("parseHex(%q) = %x; encoding/hex: %x, %v", text, got, want, wantErr)
		}
		if err != nil && wantErr == nil && !hasBlank {
			t.Errorf("parseHex(%q) refuses what encoding/hex takes: %v", text, err)
		}
	})
}

package proxy

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
)

func TestForwarded(t *testing.T) {
	trust, err := ParseTrust("10.0.0.0/8, 192.0.2.7,2001:db8::/32,::ffff:172.16.0.0/108")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, peer string
		values     []string
		want       string
	}{
		{"a peer that is no proxy is not believed", "198.51.100.9", []string{"203.0.113.5"}, "198.51.100.9"},
		{"a proxy without the header", "10.1.1.1", nil, "10.1.1.1"},
		{"one address", "10.1.1.1", []string{"203.0.113.5"}, "203.0.113.5"},
		{"a proxy that is named by its address", "192.0.2.7", []string{"203.0.113.5"}, "203.0.113.5"},
		{"its neighbour", "192.0.2.8", []string{"203.0.113.5"}, "192.0.2.8"},
		{"a proxy over a socket of IPv6", "::ffff:10.1.1.1", []string{"203.0.113.5"}, "203.0.113.5"},
		{"a network that was written as IPv6", "172.17.0.1", []string{"203.0.113.5"}, "203.0.113.5"},
		{"the last that is no proxy, and what stands before may be made up", "10.1.1.1", []string{"127.0.0.1, 203.0.113.5, 10.2.2.2"}, "203.0.113.5"},
		{"several headers are one", "10.1.1.1", []string{"127.0.0.1, 203.0.113.6", "203.0.113.5,10.2.2.2", "10.3.3.3"}, "203.0.113.5"},
		{"only proxies", "10.1.1.1", []string{"10.2.2.2,10.3.3.3"}, "10.1.1.1"},
		{"one that cannot be read", "10.1.1.1", []string{"203.0.113.5, unknown"}, "10.1.1.1"},
		{"one that cannot be read, and a proxy behind it", "10.1.1.1", []string{"203.0.113.5, unknown, 10.2.2.2"}, "10.1.1.1"},
		{"an empty one", "10.1.1.1", []string{""}, "10.1.1.1"},
		{"a comma at the end", "10.1.1.1", []string{"203.0.113.5,"}, "10.1.1.1"},
		{"a port behind it", "10.1.1.1", []string{"203.0.113.5:4711"}, "203.0.113.5"},
		{"IPv6", "2001:db8::1", []string{"2001:dead::1"}, "2001:dead::1"},
		{"IPv6 with a port", "10.1.1.1", []string{"[2001:dead::1]:80"}, "2001:dead::1"},
		{"IPv4 as IPv6", "10.1.1.1", []string{"::ffff:203.0.113.5"}, "203.0.113.5"},
		{"a zone", "10.1.1.1", []string{"fe80::1%eth0"}, "10.1.1.1"},
		{"nobody's address", "10.1.1.1", []string{"0.0.0.0"}, "10.1.1.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := trust.Forwarded(netip.MustParseAddr(tt.peer), tt.values).String(); got != tt.want {
				t.Errorf("it is %s, want %s", got, tt.want)
			}
		})
	}
	if got := Trust(nil).Forwarded(netip.MustParseAddr("10.1.1.1"), []string{"203.0.113.5"}).String(); got != "10.1.1.1" {
		t.Errorf("without proxies it is %s", got)
	}
	for _, bad := range []string{"x", "10.0.0.0/33", "0.0.0.0/0", "::/0", "fe80::1%eth0", "10.0.0.1:80"} {
		if _, err := ParseTrust(bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// headers are those of the protocol's document, and what is no header. rest is what must be left in the stream.
var headers = []struct{ name, bytes, want string }{
	{"TCP4", "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n", "192.0.2.1:56324"},
	{"the longest TCP4", "PROXY TCP4 255.255.255.254 255.255.255.255 65535 65535\r\n", "255.255.255.254:65535"},
	{"TCP6", "PROXY TCP6 2001:db8::1 2001:db8::2 56324 443\r\n", "[2001:db8::1]:56324"},
	{"the longest TCP6", "PROXY TCP6 2fff:fff0:0f0f:0f0f:0f0f:0f0f:0f0f:0f0f 1111:1111:1111:1111:1111:1111:1111:1111 65535 65535\r\n", "[2fff:fff0:f0f:f0f:f0f:f0f:f0f:f0f]:65535"},
	{"an address of many", "PROXY TCP6 ff02::1 2001:db8::2 56324 443\r\n", "bad"},
	{"UNKNOWN", "PROXY UNKNOWN\r\n", "own"},
	{"the longest UNKNOWN", "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n", "own"},
	{"two bytes over", "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535  \r\n", "bad"},
	{"an address of the other kind", "PROXY TCP4 2001:db8::1 2001:db8::2 56324 443\r\n", "bad"},
	{"two blanks", "PROXY TCP4  192.0.2.1 198.51.100.1 56324 443\r\n", "bad"},
	{"a port with a zero", "PROXY TCP4 192.0.2.1 198.51.100.1 056324 443\r\n", "bad"},
	{"a port that is too large", "PROXY TCP4 192.0.2.1 198.51.100.1 65536 443\r\n", "bad"},
	{"a sign", "PROXY TCP4 192.0.2.1 198.51.100.1 +1 443\r\n", "bad"},
	{"one word too many", "PROXY TCP4 192.0.2.1 198.51.100.1 1 443 9\r\n", "bad"},
	{"nobody's address", "PROXY TCP4 0.0.0.0 198.51.100.1 1 443\r\n", "bad"},
	{"a request", "GET / HTTP/1.1\r\nHost: a\r\n", "bad"},
	{"a client hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03abcdefgh", "bad"},
	{"v2 IPv4", signature + "\x21\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x01\xdc\x04\x01\xbb", "192.0.2.1:56324"},
	{"v2 IPv4 and more", signature + "\x21\x11\x00\x0f\xc0\x00\x02\x01\xc6\x33\x64\x01\xdc\x04\x01\xbb\x04\x00\x00", "192.0.2.1:56324"},
	{"v2 IPv6", signature + "\x21\x21\x00\x24\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\xdc\x04\x01\xbb", "[2001:db8::1]:56324"},
	{"v2 of the proxy itself", signature + "\x20\x00\x00\x00", "own"},
	{"v2 of the proxy itself with addresses", signature + "\x20\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x01\xdc\x04\x01\xbb", "own"},
	{"v2 without a family", signature + "\x21\x00\x00\x03abc", "own"},
	{"v2 of a Unix socket", signature + "\x21\x31\x00\xd8" + strings.Repeat("x", 216), "own"},
	{"v2 of UDP", signature + "\x21\x12\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x01\xdc\x04\x01\xbb", "bad"},
	{"v2 with half an address", signature + "\x21\x11\x00\x0b\xc0\x00\x02\x01\xc6\x33\x64\x01\xdc\x04\x01", "bad"},
	{"v2 of version 1", signature + "\x11\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x01\xdc\x04\x01\xbb", "bad"},
	{"v2 with another command", signature + "\x22\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x01\xdc\x04\x01\xbb", "bad"},
	{"v2 that is too long", signature + "\x21\x11\x08\x01", "bad"},
	{"v2 as long as may be", signature + "\x21\x11\x08\x00\xc0\x00\x02\x01\xc6\x33\x64\x01\xdc\x04\x01\xbb" + strings.Repeat("\x00", maxBody-12), "192.0.2.1:56324"},
}

func TestHeaders(t *testing.T) {
	for _, tt := range headers {
		t.Run(tt.name, func(t *testing.T) {
			const rest = "what follows"
			r := strings.NewReader(tt.bytes + rest)
			at, err := ReadHeader(r)
			got := at.String()
			switch {
			case errors.Is(err, ErrHeader):
				got = "bad"
			case err != nil:
				t.Fatal(err)
			case at == netip.AddrPort{}:
				got = "own"
			}
			if got != tt.want {
				t.Errorf("%s: it is %s, want %s", hex.EncodeToString([]byte(tt.bytes)), got, tt.want)
			}
			if left, _ := io.ReadAll(r); err == nil && string(left) != rest {
				t.Errorf("%q is left", left)
			}
			if err != nil {
				return
			}
			for n := range len(tt.bytes) { // a part of a header is none
				if _, err := ReadHeader(strings.NewReader(tt.bytes[:n])); err == nil {
					t.Errorf("%d of %d bytes are a header", n, len(tt.bytes))
				}
			}
		})
	}
}

// FuzzReadHeader: whatever comes, no more than a header is read, and what is said is an address that a client can have.
func FuzzReadHeader(f *testing.F) {
	for _, h := range headers {
		f.Add([]byte(h.bytes + "rest"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		at, err := ReadHeader(r)
		if read := len(b) - r.Len(); read > 16+maxBody {
			t.Errorf("%d bytes were read", read)
		}
		if err != nil && at != (netip.AddrPort{}) || at.Addr().Is4In6() || at.Addr().Zone() != "" {
			t.Errorf("%v, %v", at, err)
		}
		if err == nil && at.IsValid() != (at != netip.AddrPort{}) {
			t.Errorf("%v is no address", at)
		}
	})
}

package program

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/internal/patient"
)

// pebble is an authority that speaks ACME: see .ci/pebble.
type pebble struct {
	directory, roots string
	own              *x509.CertPool // what it signs with
	http, tls        string         // the ports at which it asks for challenges
}

func newPebble(t *testing.T) *pebble {
	words := strings.Fields(os.Getenv("PARLEY_PEBBLE"))
	if len(words) != 5 {
		t.Skip("no authority runs: .ci/pebble go test ./program runs one")
	}
	p := &pebble{directory: words[0], roots: words[1], own: x509.NewCertPool(), http: words[3], tls: words[4]}
	text, err := os.ReadFile(p.roots)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get(words[2])
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err = io.ReadAll(res.Body); err != nil || !p.own.AppendCertsFromPEM(text) {
		t.Fatalf("the authority's certificate is %q, %v", text, err)
	}
	return p
}

// serials returns the number of the certificate that --play and realm show for a name. The authority has signed it, and --play answers
// with it.
func (p *pebble) serials(t *testing.T, s *serving, name string) string {
	t.Helper()
	trust := &tls.Config{RootCAs: p.own, ServerName: name}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", s.addrs["realm"], trust)
	if err != nil {
		t.Fatalf("realm: %v", err)
	}
	defer conn.Close()
	serial := conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	r, _ := http.NewRequest("GET", "https://"+s.addrs["play"]+"/play/server", nil)
	r.Host = name
	transport := &http.Transport{TLSClientConfig: trust}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(r)
	if err != nil {
		t.Fatalf("--play: %v", err)
	}
	defer res.Body.Close()
	if shown := res.TLS.PeerCertificates[0].SerialNumber.String(); res.StatusCode != http.StatusOK || shown != serial {
		t.Errorf("--play answers %s with certificate %s, and realm has %s", res.Status, shown, serial)
	}
	return serial
}

// A server obtains a certificate from an authority, by a challenge over HTTP and by one over TLS, and has it for --play and realm. When
// it starts again, it has the same.
func TestServeWithAnAuthority(t *testing.T) {
	p := newPebble(t)
	for _, tt := range []struct {
		name, host string
		flags      []string
	}{
		{"over HTTP", "game.example", []string{"--acme-http", "127.0.0.1:" + p.http}},
		{"over TLS", "tls.game.example", []string{"--acme-http", "off", "--play", "127.0.0.1:" + p.tls}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flags := append([]string{"--data", filepath.Join(t.TempDir(), "data"), "--acme", tt.host, "--acme-roots", p.roots}, tt.flags...)
			var first string
			t.Run("at first", func(t *testing.T) {
				s := serves(t, append(flags, "--acme-directory", p.directory)...)
				patient.Until(t, "there is a certificate", func() bool {
					if strings.Contains(s.err.String(), "the authority gave no certificate") {
						t.Fatal("the authority gave no certificate")
					}
					return strings.Contains(s.err.String(), "there is a certificate")
				})
				first = p.serials(t, s, tt.host)
				if _, err := tls.Dial("tcp", s.addrs["realm"], &tls.Config{RootCAs: p.own, ServerName: "other.example"}); err == nil {
					t.Error("the certificate is for another name, too")
				}
			})
			t.Run("again", func(t *testing.T) { // nobody is there to ask
				s := serves(t, append(flags, "--acme-directory", "https://127.0.0.1:1/dir")...)
				patient.Until(t, "there is a certificate", func() bool { return strings.Contains(s.err.String(), "there is a certificate") })
				if again := p.serials(t, s, tt.host); again != first {
					t.Errorf("certificate %s was shown, and now it is %s", first, again)
				}
			})
		})
	}
}

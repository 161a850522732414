package program

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/internal/patient"
)

// serving is a running command serve.
type serving struct {
	addrs    map[string]string // as in the ready file
	out, err *lockedBuffer
	data     string // the folder
	ended    chan error
}

// serves runs serve with flags until the test ends, and returns when everything listens.
func serves(t *testing.T, args ...string) *serving {
	t.Helper()
	return begins(t, args...).wait()
}

// begun is a command serve that may not have started yet.
type begun struct{ wait func() *serving }

// begins runs serve with flags until the test ends.
func begins(t *testing.T, args ...string) *begun {
	t.Helper()
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready.json")
	s := &serving{out: new(lockedBuffer), err: new(lockedBuffer), data: filepath.Join(dir, "data"), ended: make(chan error, 1)}
	cmd := ours().newServe()
	cmd.SetOut(s.out)
	cmd.SetErr(s.err)
	cmd.SetArgs(append([]string{"--data", s.data, "--ready-file", ready, "--web", "off", "--realm-time", "off", "--keep", "off",
		"--stamp", "off", "--relay", "off", "--replica", "off", "--duplex", "off", "--realm", "127.0.0.1:0", "--play", "127.0.0.1:0"}, args...))
	cmd.SilenceUsage = true
	ctx, stop := context.WithCancel(context.Background())
	ended := s.ended
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := patient.Value(ended); err != nil {
			t.Errorf("serve: %v", err)
		}
		if t.Failed() {
			t.Logf("the log:\n%s", s.err)
		}
	})
	return &begun{func() *serving {
		t.Helper()
		patient.Until(t, "the server listens", func() bool {
			select {
			case err := <-ended:
				ended <- err
				t.Fatalf("serve has ended: %v", err)
			default:
			}
			return strings.Contains(s.out.String(), "Interrupt to stop.")
		})
		text, err := os.ReadFile(ready)
		if err != nil || json.Unmarshal(text, &s.addrs) != nil {
			t.Fatalf("the ready file is %q, %v", text, err)
		}
		return s
	}}
}

// writeCertificate makes a certificate for game.example.
func writeCertificate(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"game.example"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, &about, &about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// shownAt returns the number of the certificate that is shown at an address.
func shownAt(t *testing.T, addr string) int64 {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", addr, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// --play and realm have the certificate of the files, also when it changes, and the name in it is known.
func TestServeWithACertificate(t *testing.T) {
	t.Parallel() // it waits for most of its time
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, 1)
	s := serves(t, "--tls-cert", cert, "--tls-key", key)
	if !strings.Contains(s.out.String(), "https://"+s.addrs["play"]+"/") {
		t.Errorf("the table is\n%s", s.out)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	ask := func(host string) (int, string, string) {
		r, _ := http.NewRequest("GET", "https://"+s.addrs["play"]+"/play/server", nil)
		r.Host = host
		res, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, res.Proto, string(text)
	}
	if status, proto, text := ask("game.example"); status != 200 || proto != "HTTP/1.1" || !strings.Contains(text, `"realm":{"carrier":"tls"`) {
		t.Errorf("the name of the certificate: %d, %s: %s", status, proto, text)
	}
	if status, _, _ := ask("other.example"); status != http.StatusMisdirectedRequest {
		t.Errorf("another name: %d", status)
	}
	for _, part := range []string{"play", "realm"} {
		if n := shownAt(t, s.addrs[part]); n != 1 {
			t.Errorf("%s shows certificate %d, want 1", part, n)
		}
	}
	writeCertificate(t, cert, key, 2)
	patient.Until(t, "the server has seen the new certificate", func() bool { return strings.Contains(s.err.String(), "the certificate has changed") })
	for _, part := range []string{"play", "realm"} {
		if n := shownAt(t, s.addrs[part]); n != 2 {
			t.Errorf("%s shows certificate %d, want 2", part, n)
		}
	}
	if status, _, _ := ask("game.example"); status != 200 { // over the connection that was there before
		t.Errorf("a client of before: %d", status)
	}
}

// Flags that do not go together are one sentence that says what to do.
func TestFlagsOfTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, 1)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, tt := range []struct{ flags, want string }{
		{"--tls-cert " + cert, "without --tls-key"},
		{"--tls-key " + key, "without --tls-cert"},
		{"--tls-cert " + cert + " --tls-key " + key + " --acme game.example", "not both"},
		{"--tls-cert " + cert + " --tls-key " + cert, "--tls-cert and --tls-key: certs: tls: "},
		{"--tls-cert " + cert + ".no --tls-key " + key, "no such file"},
		{"--tls-cert " + cert + " --tls-key " + key + " --play off --realm off --replica 127.0.0.1:0", "neither --play nor realm"},
		{"--tls-cert " + cert + " --tls-key " + key + " --play off --realm-plain", "neither --play nor realm"},
		{"--acme 127.0.0.1", "give a host name"},
		{"--acme [::1]", "give a host name"},
		{"--acme game", "give one host name"},
		{"--acme a.example,b.example", "give one host name"},
		{"--acme https://game.example", "give one host name"},
		{"--acme game.example --acme-http off --play off", "--acme needs port 443 or 80"},
		{"--acme game.example --acme-http " + busy.Addr().String(), "--acme needs port 443 or 80"},
		{"--acme game.example --acme-roots " + key, "has no certificate"},
		{"--acme-directory https://ca.example/dir", "without --acme"},
		{"--acme-roots " + cert, "without --acme"},
	} {
		t.Run(tt.flags[:min(len(tt.flags), 30)], func(t *testing.T) {
			r := parley("", "serve --web off --keep off --stamp off --replica off --relay off --duplex off --realm-time off --realm 127.0.0.1:0 --data "+t.TempDir()+" "+tt.flags)
			if r.status != 2 || !strings.Contains(r.err, tt.want) || strings.Count(strings.TrimSpace(r.err), "\n") > 1 {
				t.Errorf("status %d: %s", r.status, r.err)
			}
		})
	}
}

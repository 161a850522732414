package program

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	front "parley"
)

func TestAServerIsKnownFromItsFirstCertificate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "known_servers")
	one, two := strings.Repeat("a1", 32), strings.Repeat("b2", 32)
	var told []string
	k := knownServers{file, func(text string) { told = append(told, text) }}
	for _, tt := range []struct{ name, addr, print, fault string }{
		{"a new server", "game.example:9999", one, ""},
		{"the same again", "game.example:9999", one, ""},
		{"the same in other words", "GAME.example.:9999", strings.ToUpper(one), ""},
		{"another certificate", "game.example:9999", two, "the SHA-256 was " + one + " and is now " + two},
		{"another port is another server", "game.example:1", two, ""},
		{"an address", "[::ffff:127.0.0.1]:1", one, ""},
		{"the address in other words", "127.0.0.1:1", two, "remove the line of 127.0.0.1:1 from " + file},
	} {
		err := k.trust(tt.addr, tt.print)
		if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.fault)
		}
	}
	if len(told) != 3 || !strings.Contains(told[0], "game.example:9999 is new: its certificate, SHA-256 "+one) {
		t.Errorf("it has told %q", told)
	}
	text, err := os.ReadFile(file)
	if want := "game.example:9999 " + one + "\ngame.example:1 " + two + "\n127.0.0.1:1 " + one + "\n"; err != nil || string(text) != want {
		t.Errorf("the file has %q, %v; want %q", text, err, want)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("others may read or write it: %v, %v", info.Mode(), err)
	}
}

func TestAFileOfKnownServersThatIsNotOurs(t *testing.T) {
	print := strings.Repeat("0f", 32)
	for _, tt := range []struct{ name, text, fault string }{
		{"comments, blanks and colons", "# mine\r\n\n  a:1   " + strings.Repeat("0F:", 31) + "0f \r\n", ""},
		{"a last line that is open", "b:1 " + print, ""},
		{"a line of another kind", "a:1 " + print + "\nssh-rsa AAAA\n", ""}, // what is behind the line is not looked at
		{"a torn line", "b:1 " + print + "\na:1 0f0f\n", "line 2: it is not an address and a SHA-256 in hex"},
		{"too many", strings.Repeat("#", maxKnownBytes+1), "has more than 1048576 bytes"},
	} {
		file := filepath.Join(t.TempDir(), "known")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		k := knownServers{file: file}
		for range 2 {
			if err := k.trust("a:1", print); tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.fault)
			}
		}
	}
	if err := (&knownServers{}).trust("a:1", print); err == nil || !strings.Contains(err.Error(), "--known-servers") {
		t.Errorf("without a file: %v", err)
	}
	if err := (&knownServers{file: t.TempDir()}).trust("a:1", print); err == nil {
		t.Error("a folder is no file")
	}
}

// The certificate of another server at the same address: that is how somebody in between looks. The password does not get there.
func TestAPasswordIsNotSentToAChangedServer(t *testing.T) {
	t.Parallel()
	known := filepath.Join(t.TempDir(), "known_servers")
	_, addrs, _ := serveArena(t, func(c *front.Config) { c.RealmPlain = false })
	line := "join realm " + addrs["realm"] + " --name ann --password-stdin --known-servers " + known
	first := parley("correct horse\nquit\n", line)
	if first.status != exitOK || !strings.Contains(first.err, addrs["realm"]+" is new: its certificate, SHA-256 ") {
		t.Fatalf("%+v", first)
	}
	if again := parley("correct horse\nquit\n", line); again.status != exitOK || again.err != "" {
		t.Errorf("%+v", again)
	}
	text, err := os.ReadFile(known)
	if err != nil {
		t.Fatal(err)
	}
	right := strings.Fields(string(text))[1]
	if err := os.WriteFile(known, []byte(addrs["realm"]+" "+strings.Repeat("00", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The account has another password: had this one been sent, the server would say so.
	changed := parley("incorrect horse\n", line)
	if changed.status != exitFailed || !strings.Contains(changed.err, "its certificate has changed, so nothing was sent to it") || strings.Contains(changed.err, "password of") {
		t.Errorf("%+v", changed)
	}
	// A pinned certificate is all that counts, and the file is not looked at.
	if pinned := parley("correct horse\nquit\n", line+" --fingerprint "+strings.ToUpper(right)); pinned.status != exitOK {
		t.Errorf("%+v", pinned)
	}
	other := parley("incorrect horse\n", line+" --fingerprint "+strings.Repeat("00", 32))
	if other.status != exitFailed || !strings.Contains(other.err, "its certificate is not the one of --fingerprint, so nothing was sent to it: its SHA-256 is "+right) {
		t.Errorf("%+v", other)
	}
}

// vouchers makes certificates as an authority does.
type vouchers struct {
	t    *testing.T
	own  *x509.Certificate
	key  *ecdsa.PrivateKey
	made int64
}

func newVouchers(t *testing.T) *vouchers {
	v := &vouchers{t: t}
	var err error
	if v.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	about := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, &about, &about, &v.key.PublicKey, v.key)
	if err == nil {
		v.own, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *vouchers) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(v.own)
	return pool
}

// issue returns a new certificate for a name.
func (v *vouchers) issue(name string) *tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		v.t.Fatal(err)
	}
	v.made++
	about := x509.Certificate{SerialNumber: big.NewInt(1 + v.made), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, &about, v.own, &key.PublicKey, v.key)
	if err != nil {
		v.t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// A certificate that an authority vouches for, and for the server's name, needs no pin, and its renewal locks nobody out. Any other is
// pinned.
func TestAVouchedCertificateIsNotPinned(t *testing.T) {
	t.Parallel()
	authority := newVouchers(t)
	var shown atomic.Pointer[tls.Certificate]
	shown.Store(authority.issue("localhost"))
	_, addrs, _ := serveArena(t, func(c *front.Config) {
		c.RealmPlain = false
		c.RealmTLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return shown.Load(), nil }}
	})
	_, port, _ := net.SplitHostPort(addrs["realm"])
	known := filepath.Join(t.TempDir(), "known_servers")
	join := func(roots *x509.CertPool, addr, more string) result {
		a := ours()
		a.authorities = roots
		var out, errOut bytes.Buffer
		status := a.run(strings.Fields("join realm "+addr+" --name ann --password-stdin --known-servers "+known+more), streams{In: strings.NewReader("correct horse\nquit\n"), Out: &out, Err: &errOut})
		return result{status, out.String(), errOut.String()}
	}
	named, numbered := "localhost:"+port, "127.0.0.1:"+port
	for _, turn := range []string{"the first certificate", "the next certificate"} {
		if r := join(authority.pool(), named, ""); r.status != exitOK || r.err != "" {
			t.Errorf("%s: %+v", turn, r)
		}
		shown.Store(authority.issue("localhost"))
	}
	if _, err := os.Stat(known); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a certificate was kept: %v", err)
	}
	if r := join(authority.pool(), named, " --fingerprint "+strings.Repeat("00", 32)); r.status != exitFailed || !strings.Contains(r.err, "its certificate is not the one of --fingerprint") {
		t.Errorf("an authority's word counts more than --fingerprint: %+v", r)
	}
	sum := sha256.Sum256(shown.Load().Certificate[0])
	if r := join(authority.pool(), named, " --fingerprint "+hex.EncodeToString(sum[:])); r.status != exitOK {
		t.Errorf("the certificate of --fingerprint: %+v", r)
	}
	for _, tt := range []struct {
		name  string
		roots *x509.CertPool
		addr  string
	}{{"another name", authority.pool(), numbered}, {"another authority", newVouchers(t).pool(), named}} {
		if r := join(tt.roots, tt.addr, ""); r.status != exitOK || !strings.Contains(r.err, tt.addr+" is new: its certificate") {
			t.Errorf("%s: %+v", tt.name, r)
		}
		before := shown.Swap(authority.issue("localhost"))
		if r := join(tt.roots, tt.addr, ""); r.status != exitFailed || !strings.Contains(r.err, "its certificate has changed") {
			t.Errorf("%s, renewed: %+v", tt.name, r)
		}
		shown.Store(before)
	}
	if r := join(authority.pool(), named, ""); r.status != exitOK || r.err != "" {
		t.Errorf("one that was pinned, and is vouched for now: %+v", r)
	}
}

package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/internal/patient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// makePair returns a certificate and its key.
func makePair(t *testing.T, serial int64, until time.Time) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"game.example"}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until}
	signed, err := x509.CreateCertificate(rand.Reader, &about, &about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// logged is a log that tests read.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// pairOnDisk writes a pair and opens it, without looking at it by itself.
func pairOnDisk(t *testing.T) (f *Files, cert, key string, log *logged) {
	t.Helper()
	dir := t.TempDir()
	cert, key, log = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), new(logged)
	c, k := makePair(t, 1, time.Now().Add(time.Hour))
	write(t, cert, c)
	write(t, key, k)
	f, err := Open(cert, key, log.logger())
	if err != nil {
		t.Fatal(err)
	}
	f.Close() // the test looks
	return f, cert, key, log
}

func serialOf(t *testing.T, f *Files) int64 {
	t.Helper()
	c, err := f.Certificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf.SerialNumber.Int64()
}

// A new pair is taken. Whatever is wrong with one, the old one stays in use, and the log says so once.
func TestFilesAreReadAgain(t *testing.T) {
	good, goodKey := makePair(t, 2, time.Now().Add(time.Hour))
	for _, tt := range []struct {
		name      string
		cert, key []byte // nil: the file is not there
		serial    int64
		complains string
	}{
		{"a new pair", good, goodKey, 2, ""},
		{"a certificate without its key", good, nil, 1, "no such file"},
		{"no certificate", nil, goodKey, 1, "no such file"},
		{"empty files", []byte{}, []byte{}, 1, "failed to find any PEM data"},
		{"half a certificate", good[:len(good)/2], goodKey, 1, "failed to find any PEM data"},
		{"a file that is no certificate", bytes.Repeat([]byte("x"), maxFile+1), goodKey, 1, "so it is no certificate or key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, cert, key, log := pairOnDisk(t)
			for file, text := range map[string][]byte{cert: tt.cert, key: tt.key} {
				if text == nil {
					os.Remove(file)
				} else {
					write(t, file, text)
				}
			}
			for range 4 {
				f.look()
			}
			if got := serialOf(t, f); got != tt.serial {
				t.Errorf("the certificate is number %d, want %d", got, tt.serial)
			}
			if n := log.count("level=ERROR"); n > 1 || tt.complains != "" && log.count(tt.complains) != 1 || tt.complains == "" && n > 0 {
				t.Errorf("the log is:\n%s", log.buf.String())
			}
		})
	}
}

// Between the replacement of one file and that of the other nothing is logged, and the old pair stays.
func TestFilesAreReplacedOneByOne(t *testing.T) {
	f, cert, key, log := pairOnDisk(t)
	c, k := makePair(t, 2, time.Now().Add(time.Hour))
	write(t, cert, c)
	f.look()
	if got := serialOf(t, f); got != 1 {
		t.Errorf("half a pair is used: number %d", got)
	}
	write(t, key, k)
	f.look()
	if got := serialOf(t, f); got != 2 || log.count("level=ERROR") > 0 {
		t.Errorf("the certificate is number %d, and the log is:\n%s", got, log.buf.String())
	}
	// And a fault that comes again after it was mended is told again.
	for range 2 {
		write(t, key, []byte("x"))
		f.look()
		f.look()
		write(t, key, k)
		f.look()
	}
	if n := log.count("level=ERROR"); n != 2 {
		t.Errorf("two faults are told %d times:\n%s", n, log.buf.String())
	}
}

func TestFilesThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "a"), filepath.Join(dir, "b"), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("the error is %v", err)
	}
	cert, _ := makePair(t, 1, time.Now().Add(time.Hour))
	_, key := makePair(t, 2, time.Now().Add(time.Hour))
	write(t, filepath.Join(dir, "a"), cert)
	write(t, filepath.Join(dir, "b"), key)
	if _, err := Open(filepath.Join(dir, "a"), filepath.Join(dir, "b"), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "does not match") {
		t.Errorf("a key of another certificate: the error is %v", err)
	}
}

func TestACertificateThatHasEndedIsTold(t *testing.T) {
	dir, log := t.TempDir(), new(logged)
	c, k := makePair(t, 1, time.Now().Add(-time.Hour))
	write(t, filepath.Join(dir, "a"), c)
	write(t, filepath.Join(dir, "b"), k)
	f, err := Open(filepath.Join(dir, "a"), filepath.Join(dir, "b"), log.logger())
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if log.count("not valid today") != 1 {
		t.Errorf("the log is:\n%s", log.buf.String())
	}
}

// A connection that was there before goes on over the old certificate, and the next one gets the new one.
func TestNobodyIsDroppedByANewCertificate(t *testing.T) {
	f, cert, key, _ := pairOnDisk(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: f.Certificate})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	defer patient.Done(group.Wait)
	defer l.Close()
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() { io.Copy(conn, conn); conn.Close() })
		}
	})
	dial := func() *tls.Conn {
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(time.Minute))
		return conn
	}
	echo := func(conn *tls.Conn) {
		b := []byte("here")
		if _, err := conn.Write(b); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(conn, b); err != nil {
			t.Error(err)
		}
	}
	before := dial()
	defer before.Close()
	echo(before)
	c, k := makePair(t, 2, time.Now().Add(time.Hour))
	write(t, cert, c)
	write(t, key, k)
	f.look()
	after := dial()
	defer after.Close()
	echo(before)
	echo(after)
	if old, now := before.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), after.ConnectionState().PeerCertificates[0].SerialNumber.Int64(); old != 1 || now != 2 {
		t.Errorf("the certificates are %d and %d, want 1 and 2", old, now)
	}
}

// The files are looked at by themselves, too.
func TestFilesAreWatched(t *testing.T) {
	f, cert, key, _ := pairOnDisk(t)
	f.stop, f.done, f.once = make(chan struct{}), make(chan struct{}), sync.Once{}
	go f.watch(time.Millisecond)
	defer f.Close()
	c, k := makePair(t, 2, time.Now().Add(time.Hour))
	write(t, cert, c)
	write(t, key, k)
	patient.Until(t, "the new certificate is used", func() bool { return serialOf(t, f) == 2 })
}

package certs

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Files is a certificate and its key in files of the PEM format. The file of the certificate may have the rest of the chain
// behind it.
type Files struct {
	cert, key string
	log       *slog.Logger
	now       atomic.Pointer[tls.Certificate]

	// Owned by the goroutine of watch.
	used, seen pair
	refused    *pair // of which it was told that it cannot be used

	stop chan struct{}
	once sync.Once
	done chan struct{}
}

// pair is what is in the two files, or why they cannot be read.
type pair struct {
	cert, key []byte
	err       string
}

func (p pair) equal(q pair) bool {
	return p.err == q.err && bytes.Equal(p.cert, q.cert) && bytes.Equal(p.key, q.key)
}

// Open reads the files, and reads them again when they change until Close is called. log is told of that.
func Open(cert, key string, log *slog.Logger) (*Files, error) {
	f := &Files{cert: cert, key: key, log: log, stop: make(chan struct{}), done: make(chan struct{})}
	f.used = f.read()
	f.seen = f.used
	first, err := f.used.certificate()
	if err != nil {
		return nil, err
	}
	f.now.Store(first)
	warnOfEnd(log, first)
	go f.watch(lookEvery)
	return f, nil
}

// Certificate is a tls.Config's GetCertificate.
func (f *Files) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.now.Load(), nil }

// Close stops looking at the files. The certificate stays.
func (f *Files) Close() {
	f.once.Do(func() { close(f.stop) })
	<-f.done
}

// watch looks at the files until it is stopped.
func (f *Files) watch(every time.Duration) {
	defer close(f.done)
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-t.C:
			f.look()
		}
	}
}

// look takes what is in the files if it is new and whole. A fault is told when it is still there at the next look: the two
// files are rarely replaced at the same instant.
func (f *Files) look() {
	before := f.seen
	f.seen = f.read()
	switch {
	case f.seen.equal(f.used):
		f.refused = nil
		return
	case f.refused != nil && f.seen.equal(*f.refused):
		return
	}
	next, err := f.seen.certificate()
	switch {
	case err == nil:
		f.now.Store(next)
		f.used, f.refused = f.seen, nil
		f.log.Info("the certificate has changed; new connections get it", "sha256", fingerprint(next), "until", next.Leaf.NotAfter)
		warnOfEnd(f.log, next)
	case f.seen.equal(before):
		f.refused = new(f.seen)
		f.log.Error("the new certificate cannot be used, so the old one stays in use", "err", err)
	}
}

func (f *Files) read() (p pair) {
	var err, other error
	p.cert, err = readFile(f.cert)
	p.key, other = readFile(f.key)
	switch {
	case err != nil:
		p.err = err.Error()
	case other != nil:
		p.err = other.Error()
	}
	return p
}

func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes, so it is no certificate or key", name, maxFile)
	}
	return text, err
}

// certificate returns the certificate of the files.
func (p pair) certificate() (*tls.Certificate, error) {
	if p.err != "" {
		return nil, fmt.Errorf("certs: %s", p.err)
	}
	c, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, fmt.Errorf("certs: %w", err)
	}
	return &c, nil
}

// warnOfEnd says that a certificate is not valid now: clients will refuse it.
func warnOfEnd(log *slog.Logger, c *tls.Certificate) {
	if now := time.Now(); now.After(c.Leaf.NotAfter) || now.Before(c.Leaf.NotBefore) {
		log.Warn("the certificate is not valid today; clients will refuse it", "from", c.Leaf.NotBefore, "until", c.Leaf.NotAfter)
	}
}

// fingerprint returns the SHA-256 of a certificate in hex.
func fingerprint(c *tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	return hex.EncodeToString(sum[:])
}

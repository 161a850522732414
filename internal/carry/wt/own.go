package wt

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"math/big"
	"sync"
	"time"
)

// Own is certificates that a server has signed itself, which browsers take by their hashes. One is in use, and the next one is there
// already. Its methods are for any goroutine.
type Own struct {
	clock func() time.Time

	mu        sync.Mutex
	from      time.Time // when now came into use
	now, next *tls.Certificate
}

// NewOwn returns certificates by a clock.
func NewOwn(clock func() time.Time) (*Own, error) {
	o := &Own{clock: clock}
	return o, o.renew()
}

// renew has the certificates be those of this time.
func (o *Own) renew() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := o.clock()
	switch past := at.Sub(o.from); {
	case o.now != nil && past >= 0 && past < ownStep:
		return nil
	case o.now != nil && past >= 0 && past < 2*ownStep: // the next one comes into use
		made, err := makeOwn(o.from.Add(2 * ownStep))
		if err != nil {
			return err
		}
		o.now, o.next, o.from = o.next, made, o.from.Add(ownStep)
		return nil
	}
	first, err := makeOwn(at)
	if err != nil {
		return err
	}
	second, err := makeOwn(at.Add(ownStep))
	if err != nil {
		return err
	}
	o.now, o.next, o.from = first, second, at
	return nil
}

// Certificate is a tls.Config's GetCertificate.
func (o *Own) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if err := o.renew(); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now, nil
}

// Hashes returns the SHA-256 of the certificate in use and of the next one, in hex.
func (o *Own) Hashes() []string {
	_ = o.renew() // the old ones are told then, and Certificate fails
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []string
	for _, c := range []*tls.Certificate{o.now, o.next} {
		sum := sha256.Sum256(c.Certificate[0])
		list = append(list, hex.EncodeToString(sum[:]))
	}
	return list
}

// makeOwn makes a certificate that comes into use at a time.
func makeOwn(use time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	from := use.Add(-ownEarly)
	about := x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "parley"}, DNSNames: []string{"localhost"}, NotBefore: from, NotAfter: from.Add(ownDays),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, &about, &about, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}, nil
}

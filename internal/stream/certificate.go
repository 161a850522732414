package stream

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// certificateYears is how long our self-signed certificate is valid. It is not renewed: every
// client that pins its fingerprint would have to learn the new one.
const certificateYears = 20

// Fingerprint returns the SHA-256 of a certificate in hex, which a client can pin.
func Fingerprint(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}

// OwnCertificate returns the self-signed certificate that is kept in file, and makes it first
// if there is none. Its key is in the same file, which only the owner may read.
func OwnCertificate(file string) (tls.Certificate, error) {
	cert, err := readCertificate(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return cert, err
	}
	text, err := makeCertificate()
	if err != nil {
		return cert, fmt.Errorf("stream: make a certificate: %w", err)
	}
	if err := keep(file, text); err != nil {
		return cert, fmt.Errorf("stream: keep the certificate: %w", err)
	}
	return readCertificate(file)
}

func readCertificate(file string) (tls.Certificate, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return tls.Certificate{}, err
	}
	cert, err := tls.X509KeyPair(text, text)
	if err != nil {
		return cert, fmt.Errorf("stream: %s: %w", file, err)
	}
	return cert, nil
}

func makeCertificate() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	about := x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "parley"},
		DNSNames:     []string{"localhost"},
		NotBefore:    now.Add(-24 * time.Hour), // a client's clock may be behind
		NotAfter:     now.AddDate(certificateYears, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, &about, &about, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	return append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...), nil
}

// keep writes a file completely or not at all, also if the power fails.
func keep(file string, text []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".certificate-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // which fails when it was renamed
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	// A link fails where a rename would replace the file, so two servers that start at once
	// agree on one certificate.
	if err := os.Link(f.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return os.Rename(f.Name(), file)
	}
	return nil
}

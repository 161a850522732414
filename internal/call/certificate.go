//go:build !js

package call

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"slices"
)

// isPinned reports whether a certificate has one of these SHA-256.
func isPinned(der []byte, pinned [][]byte) bool {
	sum := sha256.Sum256(der)
	return slices.ContainsFunc(pinned, func(p []byte) bool { return bytes.Equal(p, sum[:]) })
}

// vouched looks for an authority of the system that vouches for a server's certificate.
func vouched(state tls.ConnectionState, name string) error {
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: name, Intermediates: between})
	return err
}

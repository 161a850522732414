package call

import (
	"crypto/tls"
	"crypto/x509"
)

// Vouched looks for an authority that vouches for a server's certificate, and for the name of the server. Without authorities it is one
// of the system's.
func Vouched(state tls.ConnectionState, name string, authorities *x509.CertPool) error {
	if len(state.PeerCertificates) == 0 || name == "" { // without a name any would do
		return ErrUntrusted
	}
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: name, Roots: authorities, Intermediates: between})
	return err
}

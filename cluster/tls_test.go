package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"
)

// authority signs the certificates of nodes.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	var der []byte
	der, a.key = a.sign(template, nil)
	a.cert, _ = x509.ParseCertificate(der)
	return a
}

func (a *authority) sign(template *x509.Certificate, by *authority) ([]byte, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	return der, key
}

// config is that of a node whose certificate is for an address and ends at a time.
func (a *authority) config(ip string, end time.Time) *tls.Config {
	der, key := a.sign(&x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: end, IPAddresses: []net.IP{net.ParseIP(ip)}}, a)
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, RootCAs: roots}
}

// TestTLSBetweenNodes connects a node to others, of which only one has a certificate that it may trust.
func TestTLSBetweenNodes(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	later := time.Now().Add(time.Hour)
	trusting := theirs.config("127.0.0.1", later)
	trusting.RootCAs = ours.config("127.0.0.1", later).RootCAs // they take our certificate, and we not theirs
	others := []struct {
		name string
		tls  *tls.Config
	}{
		{"signed by another", theirs.config("127.0.0.1", later)}, {"trusts us, and is signed by another", trusting},
		{"expired", ours.config("127.0.0.1", time.Now().Add(-time.Minute))},
		{"without TLS", nil}, {"right", ours.config("127.0.0.1", later)},
	}
	addrs := freePorts(t, 1+len(others))
	start := func(i int, peers []string, c *tls.Config) *Node {
		n, err := Start(Config{Name: "test", Listen: addrs[i], Peers: peers, Dir: t.TempDir(), TLS: c})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		return n
	}
	us := start(0, addrs[1:2], ours.config("127.0.0.1", later))
	for i, other := range others {
		n := start(1+i, addrs[:1], other.tls)
		if other.name == "right" { // it has come last: the others had time to
			until(t, "the connection of the right one", func() bool { return n.natsServer().NumRoutes() > 0 && us.natsServer().NumRoutes() > 0 })
			continue
		}
		defer func() {
			if n.natsServer().NumRoutes() > 0 {
				t.Errorf("a node whose certificate is %q is connected", other.name)
			}
		}()
	}
}

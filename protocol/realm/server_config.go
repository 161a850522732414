package realm

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"

	"parley/internal/admission"
	"parley/internal/stream"
)

// ServerConfig sets up a server. The zero ServerConfig is usable: it makes and keeps a certificate of its own, and the
// handler answers for accounts.
type ServerConfig struct {
	Config

	// Accounts answers registrations and log-ins. Without it, the handler does.
	Accounts Accounts

	// TLS has the server's certificate and further settings of TLS. The oldest version is TLS 1.2, whatever it says. For
	// certificates from Let's Encrypt, use the TLSConfig of an autocert.Manager (golang.org/x/crypto/acme/autocert).
	TLS *tls.Config

	// Plain turns TLS off, for use behind a proxy that has TLS. All clients then have the proxy's address, so set TimeForAll
	// too.
	Plain bool

	// DataDir is the folder in which the server keeps its own certificate. Default: the directory parley in the user's
	// configuration.
	DataDir string

	// TimeAddr is the address of the time server, written host:port. Default: that of the server, over UDP, at another port
	// if that one is taken.
	TimeAddr string

	// NoTime turns the time server off: clients are told port 0.
	NoTime bool

	// TimeForAll makes the time server answer every address, not just those with a live connection.
	TimeForAll bool

	// WaitingPerAddress bounds the connections of an address (of IPv6, of its /64) that are not in the game. A /24 or /56
	// network may have eight times as many. Further ones are closed at once, and their clients try again. Default 64.
	// Negative means no limit, and so does Plain. With a limit, handshakes are limited too: 128 a second of an address, and
	// 512 of a network.
	WaitingPerAddress int
}

// porch returns the bounds of connections that are not in the game. All together are a quarter of what the core takes: who
// lost its place is there until its end is told, and the core, which cuts the oldest, is not to come to that.
func (c *ServerConfig) porch(most int) admission.PorchConfig {
	p := admission.PorchConfig{Host: c.WaitingPerAddress, Network: 8 * c.WaitingPerAddress, Total: max(most/4, 1)}
	if c.Plain || c.WaitingPerAddress < 0 {
		p.Host, p.Network = -1, -1
	}
	return p
}

// secure returns the configuration of TLS, nil for none, and the fingerprint of its
// certificate if it has one that stays.
func (c *ServerConfig) secure() (*tls.Config, string, error) {
	switch {
	case c.Plain:
		return nil, "", nil
	case c.TLS != nil:
		own := c.TLS.Clone()
		own.MinVersion = max(own.MinVersion, tls.VersionTLS12)
		if len(own.Certificates) == 0 {
			return own, "", nil
		}
		return own, stream.Fingerprint(own.Certificates[0].Certificate[0]), nil
	}
	dir, err := c.dataDir()
	if err != nil {
		return nil, "", err
	}
	cert, err := stream.OwnCertificate(filepath.Join(dir, "certificate.pem"))
	if err != nil {
		return nil, "", err
	}
	own := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	return own, stream.Fingerprint(cert.Certificate[0]), nil
}

func (c *ServerConfig) dataDir() (string, error) {
	if c.DataDir != "" {
		return c.DataDir, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", errors.Join(errors.New("ServerConfig.DataDir is not set"), err)
	}
	return filepath.Join(dir, "parley"), nil
}

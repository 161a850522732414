package realm

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"

	"parley/internal/admission"
	"parley/internal/stream"
)

// porch returns the bounds of connections that are not in the game. All together are a quarter of what the core takes: who
// lost its place is there until its end is told, and the core, which cuts the oldest, is not to come to that.
func (c *Config) porch(most int) admission.PorchConfig {
	p := admission.PorchConfig{Host: c.WaitingPerAddress, Network: 8 * c.WaitingPerAddress, Total: max(most/4, 1)}
	if c.Plain && len(c.Proxies) == 0 || c.WaitingPerAddress < 0 {
		p.Host, p.Network = -1, -1
	}
	return p
}

// secure returns the configuration of TLS, nil for none, and the fingerprint of its
// certificate if it has one that stays.
func (c *Config) secure() (*tls.Config, string, error) {
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

func (c *Config) dataDir() (string, error) {
	if c.DataDir != "" {
		return c.DataDir, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", errors.Join(errors.New("Config.DataDir is not set"), err)
	}
	return filepath.Join(dir, "parley"), nil
}

package program

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/acme"

	front "parley"
	"parley/internal/certs"
)

// tlsFlags say which certificate the server has for --play and realm.
type tlsFlags struct {
	cert, key             string
	host, directory, port string
	roots                 string
}

func (f *tlsFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.cert, "tls-cert", "", "a file with the certificate, and the chain behind it, for --play (HTTPS) and realm; it is read again when it changes")
	flags.StringVar(&f.key, "tls-key", "", "the file with the key of --tls-cert")
	flags.StringVar(&f.host, "acme", "", "obtain the certificate for this host name from an authority, Let's Encrypt by default; the name's port 443 or 80 must lead to this server")
	flags.StringVar(&f.directory, "acme-directory", "", "the address of another authority's ACME directory")
	flags.StringVar(&f.roots, "acme-roots", "", "a file with the certificates that the authority's directory is trusted by, in place of the system's")
	flags.StringVar(&f.port, "acme-http", ":80", "where the authority's HTTP challenge is answered if --play is not at port 443 (TCP); off if the name's port 443 leads to --play")
}

// isOn reports whether the operator has given a certificate, or a name for one.
func (f *tlsFlags) isOn() bool { return f.cert != "" || f.host != "" }

// check looks for flags that do not go together.
func (f *tlsFlags) check(of *serveFlags) error {
	addr, err := netip.ParseAddr(strings.Trim(f.host, "[]"))
	switch {
	case f.cert != "" && f.key == "":
		return errors.New("--tls-cert is given without --tls-key; give both files")
	case f.key != "" && f.cert == "":
		return errors.New("--tls-key is given without --tls-cert; give both files")
	case f.cert != "" && f.host != "":
		return errors.New("--tls-cert and --acme are both given; give the files of a certificate or the name to obtain one for, not both")
	case f.host == "" && f.directory != "":
		return errors.New("--acme-directory is given without --acme; name the host to obtain a certificate for")
	case f.host == "" && f.roots != "":
		return errors.New("--acme-roots is given without --acme; name the host to obtain a certificate for")
	case f.isOn() && of.play.addr == front.Off && (of.realm == front.Off || of.realmPlain):
		return errors.New("a certificate is given, and neither --play nor realm would use it; turn one on, or leave the certificate out")
	case f.host == "":
		return nil
	case err == nil:
		return fmt.Errorf("--acme is the address %v; give a host name, such as game.example", addr)
	case !strings.Contains(strings.Trim(f.host, "."), ".") || strings.ContainsAny(f.host, ":/* ,"):
		return fmt.Errorf("--acme is %q; give one host name, such as game.example, without a port", f.host)
	case f.port == "":
		return errors.New("--acme-http is empty; give an address, host:port, or off")
	case f.port == front.Off && of.play.addr == front.Off:
		return errors.New("--acme needs port 443 or 80, where the authority asks for the name; give --play an address to which port 443 leads, or --acme-http one to which port 80 leads")
	}
	return nil
}

// certificate is where the certificate comes from.
type certificate struct {
	get   func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	names []string // host names that are ours by it
	start func()
	close func()
}

// open returns the certificate, nil if the operator has given none. start is to be called once --play listens.
func (f *tlsFlags) open(of *serveFlags, log *slog.Logger) (*certificate, error) {
	switch {
	case f.cert != "":
		files, err := certs.Open(f.cert, f.key, log)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		first, _ := files.Certificate(nil)
		return &certificate{files.Certificate, first.Leaf.DNSNames, func() {}, files.Close}, nil
	case f.host != "":
		a, err := f.authority(of, log)
		if err != nil {
			return nil, err
		}
		return &certificate{a.Certificate, []string{strings.TrimSuffix(f.host, ".")}, a.Start, a.Close}, nil
	}
	return nil, nil
}

// authority returns the one that the flags name.
func (f *tlsFlags) authority(of *serveFlags, log *slog.Logger) (*certs.Authority, error) {
	c := certs.AuthorityConfig{Host: strings.TrimSuffix(f.host, "."), Dir: filepath.Join(of.data, "acme"), Directory: f.directory, Challenges: f.port, Log: log}
	if _, port, err := net.SplitHostPort(of.play.addr); f.port == front.Off || err == nil && (port == "443" || port == "https") {
		c.Challenges = "" // they come to --play
	}
	if f.roots != "" {
		text, err := os.ReadFile(f.roots)
		if err != nil {
			return nil, fmt.Errorf("--acme-roots: %w", err)
		}
		if c.Roots = x509.NewCertPool(); !c.Roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--acme-roots: %s has no certificate; give a file in the PEM format", f.roots)
		}
	}
	a, err := certs.New(c)
	if err != nil {
		return nil, fmt.Errorf("--acme needs port 443 or 80, where the authority asks for the name, and --acme-http %s cannot be used: %w; let --play listen at port 443, free that port, or choose one to which port 80 leads", f.port, cmp.Or(errors.Unwrap(err), err))
	}
	return a, nil
}

// pages is the TLS of --play. HTTP/2 is not offered: a WebSocket needs HTTP/1.1, and what bounds strangers there counts connections.
func (c *certificate) pages() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"http/1.1", acme.ALPNProto}}
}

// realm is the TLS of realm, nil for realm's own certificate.
func (c *certificate) realm() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{GetCertificate: c.get}
}

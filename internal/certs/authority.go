package certs

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// AuthorityConfig sets up an Authority. It must not be changed after use.
type AuthorityConfig struct {
	// Host is the name that the certificate is for.
	Host string

	// Dir is the folder in which the account and the certificate are kept.
	Dir string

	// Directory is the address of the authority's directory. Default Let's Encrypt's.
	Directory string

	// Roots, if set, are the authorities of Directory's own certificate, in place of the system's.
	Roots *x509.CertPool

	// Challenges, if set, is where HTTP challenges are answered, host:port: the port 80 of Host leads here. Otherwise the port 443
	// of Host must lead to a server that has TLS of this Authority.
	Challenges string

	// Log is told when a certificate was obtained, and why one was not.
	Log *slog.Logger
}

// Authority is a certificate from an authority that speaks ACME.
type Authority struct {
	c       AuthorityConfig
	manager *autocert.Manager
	ask     http.Client // of the directory
	web     http.Server
	at      net.Listener // of challenges; nil: there is none
	has     atomic.Bool  // a certificate was obtained
	asks    context.Context
	stop    context.CancelFunc
	group   sync.WaitGroup
}

// Clients are refused with these.
var (
	errNoneYet = errors.New("certs: there is no certificate yet")
	errNotOurs = errors.New("certs: a challenge for another name")
)

// New returns an Authority that answers challenges. Start has it ask for the certificate.
func New(c AuthorityConfig) (*Authority, error) {
	a := &Authority{c: c}
	a.asks, a.stop = context.WithCancel(context.Background())
	// Some ten requests in sixty days: no connection is worth keeping, and what the manager still does at Close would leave one behind.
	a.ask.Transport, a.ask.Timeout = &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: c.Roots}, DisableKeepAlives: true}, time.Minute
	client := &acme.Client{DirectoryURL: cmp.Or(c.Directory, autocert.DefaultACMEDirectory), HTTPClient: &a.ask}
	a.manager = &autocert.Manager{Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(c.Dir), HostPolicy: autocert.HostWhitelist(c.Host), Client: client}
	if c.Challenges != "" {
		at, err := net.Listen("tcp", c.Challenges)
		if err != nil {
			a.stop()
			return nil, fmt.Errorf("certs: %w", err)
		}
		a.at = &few{Listener: at, places: make(chan struct{}, challengeConns), closed: make(chan struct{})}
		answers := a.manager.HTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "only ACME challenges are answered here", http.StatusNotFound)
		}))
		a.web.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if name, _, err := net.SplitHostPort(r.Host); err == nil {
				r.Host = name // an authority of one's own may ask at another port than 80; the manager compares names
			}
			answers.ServeHTTP(w, r)
		})
		a.web.ReadTimeout, a.web.WriteTimeout, a.web.MaxHeaderBytes = challengeTimeout, challengeTimeout, 8<<10
		a.web.ErrorLog = slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug)
		a.web.SetKeepAlivesEnabled(false)
		a.group.Go(func() { a.web.Serve(a.at) })
	}
	return a, nil
}

// Start begins to ask for the certificate, and returns at once. Call it when challenges can be answered. Close does not wait for what it
// began, as a request to the authority takes what time it likes.
func (a *Authority) Start() { go a.obtain(a.asks) }

// Certificate is a tls.Config's GetCertificate. Its NextProtos must have acme.ALPNProto for challenges over TLS.
func (a *Authority) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	switch {
	case isChallenge(hello) && !strings.EqualFold(hello.ServerName, a.c.Host):
		return nil, errNotOurs // before it is looked for on the disk
	case isChallenge(hello):
		return a.manager.GetCertificate(hello)
	case !a.has.Load():
		return nil, errNoneYet
	}
	return a.manager.GetCertificate(a.modern())
}

// isChallenge reports whether a hello is the authority's, which asks whether we have the name. It is answered from what an order of
// ours has prepared, and refused otherwise.
func isChallenge(hello *tls.ClientHelloInfo) bool {
	return slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto})
}

// modern is a hello for the one name by a client that knows ECDSA, as all do that have TLS 1.2 or newer: otherwise a stranger with
// an old client would have a second certificate ordered.
func (a *Authority) modern() *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{
		ServerName: a.c.Host, SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
		SupportedCurves: []tls.CurveID{tls.CurveP256}, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
	}
}

// obtain asks for the certificate until there is one. The manager renews it from then on.
func (a *Authority) obtain(ctx context.Context) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		c, err := a.manager.GetCertificate(a.modern())
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			a.has.Store(true)
			a.c.Log.Info("there is a certificate", "host", a.c.Host, "until", c.Leaf.NotAfter)
			return
		}
		a.c.Log.Error("the authority gave no certificate, so nobody can connect over TLS; it is asked again", "host", a.c.Host, "in", pause, "err", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// Close stops answering challenges and asking.
func (a *Authority) Close() {
	a.stop()
	a.web.Close()
	a.group.Wait()
}

// few is a listener that has a limited number of connections at once.
type few struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (l *few) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &fewConn{Conn: conn, of: l}, nil
}

func (l *few) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type fewConn struct {
	net.Conn
	of   *few
	once sync.Once
}

func (c *fewConn) Close() error {
	c.once.Do(func() { <-c.of.places })
	return c.Conn.Close()
}

package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config sets up the pages. It must not be changed after use.
type Config struct {
	// Title is the name of the game.
	Title string

	// Stats returns a struct of counters, with a field for each part of the server: the dialects, the world. A nil pointer is a
	// part that is off. The server calls it from any goroutine, at most ten times a second.
	Stats func() any

	// Addrs are the addresses at which the parts listen, by the name of the field in Stats, in lower case.
	Addrs map[string]string

	// Ready returns the reason why the server is not ready, or nil if it is. Default: it is ready.
	Ready func() error

	// Hosts are names by which browsers may ask for the page, in addition to IP addresses and localhost. A foreign
	// site whose name was made to resolve to this server (DNS rebinding) cannot read the page. The probes and
	// /metrics answer to any name.
	Hosts []string

	// Operator is the server as the operator's API under /v1/ knows it. Default nil: there is no API.
	Operator Operator

	// Token is what callers of the API show, see OperatorToken. It must not be empty if there is an Operator.
	Token string

	// Log gets errors of connections, and a line for each change that was made through the API. Default: they are discarded.
	Log *slog.Logger
}

// Page is a running HTTP server.
type Page struct {
	listener net.Listener
	server   http.Server
	guard    guard
	done     chan struct{}
	err      error // valid after done
}

// Listen starts a server at addr, host:port. With port 0 the system chooses the port.
func Listen(addr string, c Config) (*Page, error) {
	p := &Page{}
	handler, a := pages(c)
	stop := func() {}
	if a != nil {
		stop = a.stop
		a.remember()
	}
	p.server.Handler, p.server.ConnState, p.server.ConnContext, p.server.IdleTimeout = handler, p.guard.watch, p.guard.context, idleTimeout
	p.server.RegisterOnShutdown(stop)
	if err := p.listen(addr, nil, c.Log, "web"); err != nil {
		stop()
		return nil, err
	}
	return p, nil
}

// listen starts the server of a page that has its handler.
func (p *Page) listen(addr string, secure *tls.Config, log *slog.Logger, proto string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("web: %w", err)
	}
	p.listener, p.done = l, make(chan struct{})
	p.server.ReadTimeout, p.server.WriteTimeout, p.server.MaxHeaderBytes = readTimeout, writeTimeout, maxHeader
	p.server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelWarn)
	if log != nil {
		p.server.ErrorLog = slog.NewLogLogger(log.With("proto", proto).Handler(), slog.LevelWarn)
	}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	go func() {
		defer close(p.done)
		if err := p.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			p.err = err
		}
	}()
	return nil
}

// Addr returns the address at which the server listens.
func (p *Page) Addr() netip.AddrPort {
	a := p.listener.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// Close finishes open requests, for as long as ctx allows, and stops the server.
func (p *Page) Close(ctx context.Context) error {
	err := p.server.Shutdown(ctx)
	if err != nil {
		p.server.Close()
	}
	<-p.done
	return errors.Join(err, p.err)
}

// Handler returns the pages, for a program with an HTTP server of its own.
func Handler(c Config) http.Handler {
	h, _ := pages(c)
	return h
}

// pages returns the pages, and the API if there is one: its stop ends streams.
func pages(c Config) (h http.Handler, a *api) {
	c = withDefaults(c)
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.Handle("GET "+r.path, buffered(r.serve(c)))
	}
	if c.Operator != nil {
		if c.Token == "" {
			panic("web: an Operator without a Token: anybody could call the API")
		}
		a, h = newAPI(c)
		mux.Handle("/v1/", h)
		for path, file := range files() {
			mux.Handle("GET "+path, known(c.Hosts, file))
		}
	}
	return withHeaders(mux), a
}

func withDefaults(c Config) Config {
	if c.Ready == nil {
		c.Ready = func() error { return nil }
	}
	if c.Stats == nil {
		c.Stats = func() any { return struct{}{} }
	}
	c.Stats = seldom(c.Stats)
	return c
}

// seldom returns a function that calls stats at most once in freshFor, and returns what it returned last in between: to look at all
// connections keeps the dialects' loops for a moment, and strangers decide how often somebody looks.
func seldom(stats func() any) func() any {
	var mu sync.Mutex
	var last any
	var at time.Time
	return func() any {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); last == nil || now.Sub(at) >= freshFor {
			last, at = stats(), now
		}
		return last
	}
}

// route is one page for probes and scrapers, which use what names they like. It tells nothing secret.
type route struct {
	path  string
	serve func(c Config) http.Handler
}

var routes = []route{
	{"/healthz", func(Config) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	}},
	{"/readyz", func(c Config) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { ready(w, c.Ready()) })
	}},
	{"/metrics", func(c Config) http.Handler {
		registry := prometheus.NewRegistry()
		registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newCollector(c.Stats))
		return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	}},
}

func ready(w http.ResponseWriter, why error) {
	if why != nil {
		http.Error(w, why.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// policy lets a page have nothing but our own files: no script, style or text of it can be anybody's. Scripts cannot make markup of
// text at all.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// withHeaders keeps browsers from doing more with a page than show it.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// buffered has an answer made at once, however slowly it is then read: making it is what may cost.
func buffered(next http.Handler) http.Handler {
	places := make(chan struct{}, maxAtOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept := &reply{header: w.Header(), status: http.StatusOK}
		select {
		case places <- struct{}{}:
			func() {
				defer func() { <-places }() // also if it panics
				next.ServeHTTP(kept, r)
			}()
		case <-r.Context().Done():
			return
		}
		w.WriteHeader(kept.status)
		w.Write(kept.body.Bytes()) // its only error is that of a client that left
	})
}

// reply keeps what a handler writes.
type reply struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *reply) Header() http.Header         { return a.header }
func (a *reply) WriteHeader(status int)      { a.status = status }
func (a *reply) Write(b []byte) (int, error) { return a.body.Write(b) }

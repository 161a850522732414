package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config is what there is to see. It is not changed after use.
type Config struct {
	// Title is the name of the game.
	Title string

	// Sources are the parts of the server, in the order of the page.
	Sources []Source

	// Ready says why the server is not ready, nil if it is. Default: it is.
	Ready func() error
}

// Source is one part of the server: a dialect, the world.
type Source struct {
	// Name begins the names of its metrics: lower-case letters and digits.
	Name string

	// Addr is where it listens, empty if it does not.
	Addr string

	// Stats returns a struct of counters. It is called by any goroutine, at each look.
	Stats func() any
}

// Limits of the page's own server: it is for a few people and one scraper.
const (
	readTimeout  = 5 * time.Second  // a client that sends its request slowly
	writeTimeout = 10 * time.Second // one that reads slowly
	idleTimeout  = time.Minute
	maxHeader    = 16 << 10
)

// Page is a running server of pages.
type Page struct {
	listener net.Listener
	server   http.Server
	done     chan struct{}
	err      error // valid after done
}

// Listen serves at addr, host:port; port 0 lets the system choose.
func Listen(addr string, c Config) (*Page, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	p := &Page{listener: l, done: make(chan struct{})}
	p.server = http.Server{
		Handler:     Handler(c),
		ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}
	go func() {
		defer close(p.done)
		if err := p.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			p.err = err
		}
	}()
	return p, nil
}

// Addr returns where it listens.
func (p *Page) Addr() netip.AddrPort {
	a := p.listener.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// Close answers what was asked, for as long as ctx allows, and stops.
func (p *Page) Close(ctx context.Context) error {
	err := p.server.Shutdown(ctx)
	if err != nil {
		p.server.Close()
	}
	<-p.done
	return errors.Join(err, p.err)
}

// Handler returns the pages, for who has a server of its own.
func Handler(c Config) http.Handler {
	if c.Ready == nil {
		c.Ready = func() error { return nil }
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &collector{c.Sources})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { ready(w, c.Ready()) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { show(w, c) })
	return withHeaders(mux)
}

func ready(w http.ResponseWriter, why error) {
	if why != nil {
		http.Error(w, why.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// withHeaders keeps browsers from doing more with a page than show it.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

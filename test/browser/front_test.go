package browser

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// front stands before a server, with a port of its own, of which a page is told that it has WebTransport there too. It asks the server at to. udp is
// that port, and nobody reads it yet.
func front(t *testing.T, s *server, to string) (page string, udp net.PacketConn) {
	t.Helper()
	var tcp net.Listener
	until(t, "a port is free for both", func() (ok bool) {
		var err error
		if tcp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return false
		}
		if udp, err = net.ListenPacket("udp", tcp.Addr().String()); err != nil {
			tcp.Close()
		}
		return err == nil
	})
	port, _ := strconv.Atoi(s.addrs["play"][strings.LastIndexByte(s.addrs["play"], ':')+1:])
	mine := tcp.Addr().(*net.TCPAddr).Port
	proxy := &httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0), // a page that goes on waits for nothing
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: to})
			if r.In.Header.Get("Origin") != "" {
				r.Out.Header.Set("Origin", "http://"+to)
			}
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Request.URL.Path != "/play/server" {
				return nil
			}
			b, err := io.ReadAll(r.Body)
			text := strings.Replace(string(b), `"port":`+strconv.Itoa(port), `"port":`+strconv.Itoa(mine), 1)
			r.Body = io.NopCloser(strings.NewReader(text))
			r.ContentLength = int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return err
		},
	}
	server := &http.Server{Handler: proxy}
	go server.Serve(tcp)
	t.Cleanup(func() {
		server.Close()
		udp.Close()
	})
	return "http://" + tcp.Addr().String() + "/", udp
}

// deaf stands before a server and lets everything through but WebTransport: its UDP port takes datagrams and answers none.
func deaf(t *testing.T, s *server) (page string, got *atomic.Int64) {
	t.Helper()
	page, udp := front(t, s, s.addrs["play"])
	got = new(atomic.Int64)
	go func() {
		for b := make([]byte, 2048); ; got.Add(1) {
			if _, _, err := udp.ReadFrom(b); err != nil {
				return
			}
		}
	}()
	return page, got
}

var listening = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// slow stands before a server as a bad network does, which takes WebTransport ("wt") or nothing but TCP ("ws"). The words are those of parley impair.
func slow(t *testing.T, s *server, carrier string, words ...string) (page string) {
	t.Helper()
	p := spawn(t, append([]string{"impair", "--tcp", "--to", s.addrs["play"]}, words...)...)
	until(t, "the bad network is there", func() bool { return listening.MatchString(p.said()) })
	page, udp := front(t, s, listening.FindString(p.said()))
	if carrier == "ws" {
		return page
	}
	at := udp.LocalAddr().String()
	udp.Close()
	q := spawn(t, append([]string{"impair", "--udp", "--listen", at, "--to", s.addrs["play"]}, words...)...)
	until(t, "the bad network is there", func() bool { return listening.MatchString(q.said()) })
	return page
}

//go:build !js

package call

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"parley/internal/plain"
)

func dialWebSocket(ctx context.Context, t Target) (*Session, error) {
	scheme := "http"
	if t.Secure {
		scheme = "https"
	}
	var socket net.Conn
	client := t.http(nil, func(c net.Conn) { socket = c })
	prompt, cancel := t.promptly(ctx)
	defer cancel()
	conn, answer, err := websocket.Dial(prompt, scheme+"://"+t.Host+t.path(), &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		client.CloseIdleConnections()
		if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
			return nil, refused(answer)
		}
		return nil, failed(ctx, err)
	}
	s := openWebSocket(t, conn)
	if socket != nil {
		s.local, s.remote = addrOf(socket.LocalAddr(), madeUp(WebSocket)), addrOf(socket.RemoteAddr(), madeUp(WebSocket))
	}
	return s, nil
}

// promptly returns a context for the server's first words.
func (t *Target) promptly(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.Prompt == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, t.Prompt)
}

// failed returns the error of a server that has not answered as one should.
func failed(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, new(tls.RecordHeaderError)):
		return &Refused{Status: http.StatusBadRequest, Text: "it has no TLS: write ws for wss"}
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil: // nothing has come for Prompt
		return &unreachable{err}
	}
	return err
}

// http returns what asks the server. opened is called with the connection to it, or to a proxy.
func (t *Target) http(pinned [][]byte, opened func(net.Conn)) *http.Client {
	dialer := &net.Dialer{Timeout: t.Prompt}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment,
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := dialer.DialContext(ctx, network, addr)
				if err == nil && opened != nil {
					opened(c)
				}
				return c, err
			},
			TLSClientConfig:        t.tls(pinned),
			MaxResponseHeaderBytes: maxHeader,
			DisableKeepAlives:      opened == nil,
		},
	}
}

// refused returns what a server says that opens no session.
func refused(answer *http.Response) *Refused {
	r := &Refused{Status: answer.StatusCode}
	if answer.Body != nil && answer.StatusCode >= 400 && answer.StatusCode != http.StatusNotFound && strings.HasPrefix(cmp.Or(answer.Header.Get("Content-Type"), "text/plain"), "text/plain") {
		words, _ := io.ReadAll(io.LimitReader(answer.Body, maxWords)) // what came is enough
		r.Text = plain.Text(strings.TrimSpace(string(words)))
	}
	return r
}

// tls returns how the server proves who it is: by an authority, by a hash that its page has told, or by Trust.
func (t *Target) tls(pinned [][]byte) *tls.Config {
	name, _, _ := net.SplitHostPort(t.Host)
	c := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} // VerifyConnection does it
	c.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return ErrUntrusted
		}
		leaf := state.PeerCertificates[0]
		if isPinned(leaf.Raw, pinned) {
			return nil
		}
		err := Vouched(state, name, t.Authorities)
		if err == nil {
			return nil
		}
		if t.Trust == nil {
			return fmt.Errorf("%w: %w", ErrUntrusted, err)
		}
		return t.Trust(leaf.Raw)
	}
	return c
}

package line

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"

	"parley/internal/call"
	carried "parley/internal/over"
	"parley/internal/shell"
)

// Carriers are the carriers that an address can name, as in replica+wss://host:8000.
var Carriers = []string{"ws", "wss", "wt"}

// target returns where a server is as package call has it.
func (c *Conn) target() call.Target {
	t := call.Target{
		Carrier: call.WebSocket, Secure: c.at.Carrier == "wss", Host: c.at.Addr, Dialect: c.at.Dialect,
		Prompt: answerPatience, Authorities: c.line.cfg.Authorities,
	}
	if c.at.Carrier == "wt" {
		t.Carrier = call.WebTransport
	}
	if trust := c.line.cfg.Trust; trust != nil {
		t.Trust = func(der []byte) error {
			sum := sha256.Sum256(der)
			if err := trust(c.at.Addr, hex.EncodeToString(sum[:])); err != nil {
				c.doubt = &distrust{err}
				return c.doubt
			}
			return nil
		}
	}
	return t
}

// over returns a context with which a dialect's Dial uses a session of the carrier that the address names, if it names one.
func (c *Conn) over(ctx context.Context) (context.Context, error) {
	if c.at.Carrier == "" {
		return ctx, nil
	}
	s, err := call.Dial(ctx, c.target())
	switch {
	case c.doubt != nil:
		return nil, c.doubt
	case err != nil:
		return nil, err
	}
	return carried.With(shell.Answer(ctx, answerPatience), s.Open()), nil
}

// errNoSockets is the error of addresses that name no carrier, in a browser.
func errNoSockets(w Way) error {
	return fmt.Errorf("client: %w at %v: a browser has no UDP and no TCP: write %s+ws://%s", ErrNoServer, w, w.Dialect, hostOf(w.Addr))
}

// inBrowser is set where only carriers reach a server.
const inBrowser = runtime.GOOS == "js"

func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// isShut reports whether a server has answered and opens no session of a carrier: another way may be open.
func isShut(err error) bool {
	var refused *call.Refused
	return errors.As(err, &refused)
}

// checkCarrier finds what no address can name.
func checkCarrier(w Way) error {
	for _, name := range append([]string{""}, Carriers...) {
		if w.Carrier == name {
			return nil
		}
	}
	return fmt.Errorf("client: there is no carrier %q: write one of %s, as in %s+ws://", w.Carrier, strings.Join(Carriers, ", "), w.Dialect)
}

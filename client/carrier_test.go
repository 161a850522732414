package client_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/arena"
	"parley/client"
	"parley/internal/patient"
	"parley/test/field"
)

var carried = []string{"replica", "relay", "duplex", "realm"}

// bridged returns a bridge to a server of the arena.
func bridged(t *testing.T, secure bool) *field.Bridge {
	t.Helper()
	return field.NewBridge(t, field.Serve(t, arena.Game(), field.Config()).At, secure)
}

// Over each dialect and each carrier a player sees itself, is told what it says, does something, is cut off, and comes back.
func TestAPlayerOverEachCarrier(t *testing.T) {
	b := bridged(t, false)
	for _, carrier := range []string{"ws", "wt"} {
		for _, dialect := range carried {
			t.Run(dialect+"+"+carrier, func(t *testing.T) {
				t.Parallel()
				c := join(t, dialect+"+"+carrier+"://"+b.Addr, client.Config{Name: dialect + carrier, Password: "correct horse"})
				until(t, c, "it sees itself", func(f *client.Frame) bool {
					_, ok := client.Own[arena.Player](f)
					return ok
				})
				if err := c.Say("hello"); err != nil {
					t.Fatal(err)
				}
				if err := client.Act(c, arena.Throw{Angle: 1}); err != nil {
					t.Fatal(err)
				}
				var said, acted bool
				until(t, c, "it reads what it said and sees what it did", func(f *client.Frame) bool {
					for ev := range f.Events() {
						said = said || ev.Kind == client.Said && ev.Text == "hello" && ev.Name == dialect+carrier
						throw, ok := client.As[arena.Throw](ev)
						acted = acted || ok && throw.Angle == 1 && ev.Own
					}
					return said && acted
				})
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Players whose sessions are reset come back, after a server that answers 503 for a while.
func TestPlayersComeBackOverCarriers(t *testing.T) {
	for _, carrier := range []string{"ws", "wt"} {
		t.Run(carrier, func(t *testing.T) {
			t.Parallel()
			b := bridged(t, false)
			var players []*client.Client
			for _, dialect := range carried {
				c := join(t, dialect+"+"+carrier+"://"+b.Addr, client.Config{Name: dialect + carrier, Password: "correct horse"})
				until(t, c, "it is in", func(f *client.Frame) bool { return f.Own() != 0 })
				players = append(players, c)
			}
			b.Refuse(http.StatusServiceUnavailable)
			b.Cut()
			for i, c := range players {
				until(t, c, carried[i]+" is away", has(client.Away))
			}
			patient.Until(t, "they are told to come again", func() bool { return b.Refused() >= len(players) })
			b.Refuse(0)
			for i, c := range players {
				until(t, c, carried[i]+" is back", has(client.Back))
			}
		})
	}
}

// A player over UDP whose server is gone goes on over what a list names next.
func TestAListOfCarriers(t *testing.T) {
	t.Parallel()
	s := field.Serve(t, arena.Game(), field.Config())
	cable := field.NewCable(t, s.At["replica"])
	b := field.NewBridge(t, s.At, false)
	c := join(t, "replica://"+cable.Addr()+",replica+wt://"+b.Addr+",relay+ws://"+b.Addr, client.Config{Name: "ann"})
	until(t, c, "it is in", func(f *client.Frame) bool { return f.Own() != 0 })
	cable.Cut()
	until(t, c, "it is away", has(client.Away))
	until(t, c, "it is back", has(client.Back))
	shut := field.NewBridge(t, s.At, false)
	shut.Refuse(http.StatusServiceUnavailable)
	d := join(t, "replica+wss://"+b.Addr+",replica+ws://"+shut.Addr+",duplex+ws://"+b.Addr, client.Config{Name: "bob"})
	until(t, d, "it is in over the last", func(f *client.Frame) bool { return f.Own() != 0 })
}

// Over TLS a server is known by an authority, by the hash that its page tells, or by what Trust says.
func TestWhoVouchesForACarrier(t *testing.T) {
	t.Parallel()
	b := bridged(t, true)
	for _, url := range []string{"replica+wss://" + b.Addr, "replica+wt://" + b.Addr} {
		if _, err := client.Dial(t.Context(), url, arena.Game(), client.Config{}); err == nil || !strings.Contains(err.Error(), "not trusted") {
			t.Errorf("%s: nobody vouches for it: %v", url, err)
		}
		doubt := errors.New("another certificate")
		c := client.Config{Trust: func(addr, fingerprint string) error {
			if addr != b.Addr || fingerprint != b.Hash {
				t.Errorf("asked about %s at %s", fingerprint, addr)
			}
			return doubt
		}}
		if _, err := client.Dial(t.Context(), url, arena.Game(), c); !errors.Is(err, doubt) {
			t.Errorf("%s: %v", url, err)
		}
		doubt = nil
		until(t, join(t, url, c), "it is in", func(f *client.Frame) bool { return f.Own() != 0 })
	}
	open := bridged(t, false)
	open.Hash = strings.Repeat("0", 64) // its page tells another than it has
	if _, err := client.Dial(t.Context(), "replica+wt://"+open.Addr, arena.Game(), client.Config{}); err == nil {
		t.Error("a certificate that is not the one of the page was taken")
	}
}

// What is no server for a player is said in a moment, and in words.
func TestAddressesOfCarriersThatFail(t *testing.T) {
	t.Parallel()
	b := bridged(t, false)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	away := httptest.NewServer(http.RedirectHandler("http://"+b.Addr+"/ws/replica", http.StatusFound))
	t.Cleanup(away.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	none := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(none.Close)
	at := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	for _, tt := range []struct {
		url, want string
		is        error
	}{
		{"replica+ws://" + silent.Addr().String(), "check the address", client.ErrNoServer},
		{"replica+wt://" + silent.Addr().String(), "check the address", client.ErrNoServer},
		{"replica+wss://" + b.Addr, "write ws for wss", client.ErrRefused},
		{"replica+ws://" + at(away), "not followed", client.ErrRefused},
		{"replica+wt://" + at(away), "not followed", client.ErrRefused},
		{"duplex+ws://" + at(gone), "check the address", client.ErrNoServer},
		{"duplex+wt://" + at(gone), "check the address", client.ErrNoServer},
		{"replica+ws://" + at(none), "check the address", client.ErrRefused},
		{"replica+quic://" + b.Addr, `no carrier "quic"`, nil},
		{"replica+://" + b.Addr, "replica+wss://", nil},
		{"http+ws://" + b.Addr, "behind + what carries it", nil},
		{"ws://" + b.Addr, `no dialect "ws"`, nil},
	} {
		t.Run(tt.url, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			_, err := client.Dial(t.Context(), tt.url, arena.Game(), client.Config{Name: "ann"})
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v", err)
			}
			t.Logf("after %v: %v", time.Since(begin), err)
		})
	}
}

// has reports whether a frame has an event of the player's own.
func has(kind client.EventKind) func(*client.Frame) bool {
	return func(f *client.Frame) (found bool) {
		for ev := range f.Events() {
			found = found || ev.Kind == kind && ev.Own
		}
		return found
	}
}

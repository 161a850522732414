package duplex

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"parley/internal/patient"
	"parley/protocol/duplex/core"
)

// passSchema is gameSchema with passes, a confirmation, an event of its own form on the feed, and inputs of 20 bytes.
var passSchema = func() *core.Schema {
	s := *gameSchema
	s.FromServer.Sizes = map[int16]core.Size{-1: core.Counted(2), -5: core.Counted(1)}
	s.FromServer.Updates = map[int16]core.Size{-5: core.Fixed(9)}
	s.FromServer.Moments = []int16{-1, -5}
	s.FromClient.Sizes = map[int16]core.Size{-6: core.Fixed(20)}
	s.Queries = map[uint8]core.Query{65: gameSchema.Queries[65], 67: {Data: core.Counted(2), Reply: core.Fixed(2), Pass: true}, 68: {}}
	return &s
}()

func passOf(text string) []byte { return append([]byte{0, byte(len(text))}, text...) }

// judgedHall is a hall whose passes are judged on a goroutine of their own: "a" and "b" lead into a scene each, and "hold" is
// judged when the test says so.
func judgedHall(t *testing.T, c Config) (h *hall, a, b *Scene, letGo func()) {
	t.Helper()
	type question struct {
		conn *Conn
		pass string
	}
	questions := make(chan question, 100)
	held := make(chan struct{})
	letGo = sync.OnceFunc(func() { close(held) })
	c.Schema, c.Resync = passSchema, -1
	c.Judge = func(c *Conn, pass []byte) { questions <- question{c, string(pass[2:])} }
	h = newHall(t, c)
	if err := h.Do(func() { a, b = h.NewScene(), h.NewScene() }); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for q := range questions {
			if q.pass == "hold" {
				patient.Value(held)
			}
			_ = h.Do(func() { // which fails when the hall is closed
				switch q.pass {
				case "a":
					q.conn.AnswerPass(0, 41, a)
				case "b":
					q.conn.AnswerPass(0, 42, b)
				case "", "hold":
					q.conn.AnswerPass(0, 0, nil)
				case "nothing":
					q.conn.AnswerPass(core.NoReply, 0, nil)
				default:
					q.conn.AnswerPass(8, 0, nil)
				}
			})
		}
	})
	t.Cleanup(func() {
		h.Close()
		letGo()
		close(questions)
		patient.Done(group.Wait)
	})
	return h, a, b, letGo
}

// Two scenes with the same SIDs, whose players know their own SIDs, and are told and say what is for clients with a pass.
func TestPassesOverRealSockets(t *testing.T) {
	server, client := certificate(t)
	for _, secure := range []bool{false, true} {
		if !secure {
			server, client = nil, nil
		}
		t.Run(map[bool]string{false: "plain", true: "TLS"}[secure], func(t *testing.T) {
			h, a, b, _ := judgedHall(t, Config{TLS: server})
			h.set(7, 3)
			if err := h.Do(func() {
				for i, s := range []*Scene{a, b} {
					if err := s.Set(7, valueOf(uint64(i+1))); err != nil {
						t.Error(err)
					}
					s.Flush()
				}
			}); err != nil {
				t.Fatal(err)
			}
			x := h.enter(Config{TLS: client, Schema: passSchema, Pass: passOf("a")})
			y := h.enter(Config{TLS: client, Schema: passSchema, Pass: passOf("b")})
			guest := h.enter(Config{TLS: client, Schema: passSchema, Pass: passOf("")})
			await(t, x, "sync 7 010000000000000001")
			await(t, y, "sync 7 010000000000000002")
			await(t, guest, "sync 7 010000000000000003")
			if x.Player() != 41 || y.Player() != 42 || guest.Player() != 3 || !x.FeedUp() {
				t.Errorf("players %d, %d and %d, feed %t", x.Player(), y.Player(), guest.Player(), x.FeedUp())
			}
			h.wait("all are in", func() bool { return len(h.conns) == 3 })
			fate := []byte("123456789")
			if err := h.Do(func() {
				c := h.conns[41]
				if !c.Showed() || c.FeedID() != 1 {
					t.Errorf("its feed is %d", c.FeedID())
				}
				if err := c.Sync(-5, []byte{2, 8, 9}); err != nil {
					t.Error(err)
				}
			}); err != nil {
				t.Fatal(err)
			}
			await(t, x, "sync -5 020809")
			if err := h.Do(func() {
				if err := h.conns[41].Update(-5, fate); err != nil {
					t.Error(err)
				}
			}); err != nil {
				t.Fatal(err)
			}
			await(t, x, "update -5 313233343536373839")
			if status, _, err := x.Query(t.Context(), Main, 68, nil); status != 0 || err != nil {
				t.Errorf("confirming: %d, %v", status, err)
			}
			if err := x.Insist(-6, bytes.Repeat([]byte{6}, 20)); err != nil {
				t.Fatal(err)
			}
			h.wait("an input", h.saw("41 update -6 "+strings.Repeat("06", 20)))
			if err := x.Sync(-6, bytes.Repeat([]byte{5}, 20)); err != nil {
				t.Fatal(err)
			}
			h.wait("an input on main", h.saw("41 sync -6 "+strings.Repeat("05", 20)))
			if err := x.Close(t.Context()); err != nil {
				t.Error(err)
			}
			h.wait("it says goodbye", h.saw("41 goodbye"))
		})
	}
}

// Dial's caller is told with which status a pass was refused, that it was never judged, or that it is no pass.
func TestDialWithARefusedPass(t *testing.T) {
	h, _, _, letGo := judgedHall(t, Config{})
	dial := func(pass []byte) (why Close, err error) {
		x, err := Dial(t.Context(), h.Addr().String(), Config{Schema: passSchema, FeedAddr: h.FeedAddr().String(), Pass: pass})
		if err == nil {
			x.Close(t.Context())
		}
		errors.As(err, &why)
		return why, err
	}
	if why, err := dial(passOf("elsewhere")); why.Reason != core.ReasonRefused || !why.Remote || why.Status != 8 {
		t.Errorf("a refused pass: %v", err)
	}
	h.wait("its end is told", h.saw("1 closed: peer left")) // as the program has judged it
	if why, err := dial([]byte{0, 9}); why.Reason != core.ReasonClosed || !strings.Contains(err.Error(), "pass") {
		t.Errorf("half a pass: %v", err)
	}
	// A verdict that takes its time is waited for, and then the rest of main is read.
	c, err := net.Dial("tcp", h.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pass := append([]byte{core.CodeConnInit, 67}, passOf("hold")...)
	if _, err := c.Write(append(pass, core.CodeConnFailed, core.CodeSyncReq)); err != nil {
		t.Fatal(err)
	}
	patient.Until(t, "it is judged", func() (judged bool) {
		_ = h.Do(func() { // the hall is open
			for c := range h.mux.Conns() {
				judged = judged || c.Showed()
			}
		})
		return judged
	})
	letGo()
	if got := readTo(t, c, core.CodeSyncEnd); !bytes.HasPrefix(got[7:], []byte{195, 0, got[1], got[2]}) {
		t.Errorf("it reads %x", got)
	}
}

// readTo reads main until a byte that ends it.
func readTo(t testing.TB, c net.Conn, last byte) (all []byte) {
	t.Helper()
	b := make([]byte, 1)
	for len(all) < 8 || all[len(all)-1] != last { // the token of CONN_INIT_REP may have any byte
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatalf("%x, and then %v", all, err)
		}
		all = append(all, b[0])
	}
	return all
}

// How a client's end looks: closing main in good order is a goodbye, and all else is not.
func TestGoodbyesOverRealSockets(t *testing.T) {
	server, client := certificate(t)
	for _, tt := range []struct {
		name    string
		secure  bool
		end     func(t *testing.T, c net.Conn, raw *net.TCPConn)
		goodbye bool
	}{
		{"it closes", false, func(t *testing.T, c net.Conn, raw *net.TCPConn) { c.Close() }, true},
		{"it closes its half", false, func(t *testing.T, c net.Conn, raw *net.TCPConn) { raw.CloseWrite() }, true},
		{"it resets", false, func(t *testing.T, c net.Conn, raw *net.TCPConn) { raw.SetLinger(0); c.Close() }, false},
		{"it closes inside a message", false, func(t *testing.T, c net.Conn, raw *net.TCPConn) { c.Write([]byte{core.CodeSync, 0}); c.Close() }, false},
		{"it closes TLS", true, func(t *testing.T, c net.Conn, raw *net.TCPConn) { c.Close() }, true},
		// Its system closes for it, which looks the same: crypto/tls takes the end of TCP between two records for one of TLS.
		{"its process is killed, with TLS", true, func(t *testing.T, c net.Conn, raw *net.TCPConn) { raw.Close() }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := Config{Resync: -1}
			if tt.secure {
				config.TLS = server
			}
			h := newHall(t, config)
			c, err := net.Dial("tcp", h.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			raw := c.(*net.TCPConn)
			defer raw.Close()
			if tt.secure {
				tlsConfig := client.Clone()
				tlsConfig.ServerName = "127.0.0.1"
				c = tls.Client(c, tlsConfig)
			}
			if _, err := c.Write([]byte{core.CodeConnInit, core.CodeConnFailed}); err != nil {
				t.Fatal(err)
			}
			readTo(t, c, core.CodeSyncEnd) // what is not read would make the system reset
			h.wait("it joins", func() bool { return h.conns[1] != nil })
			tt.end(t, c, raw)
			h.wait("it ends", func() bool { return h.conns[1] == nil })
			h.wait("all is told", func() bool { return strings.Contains(strings.Join(h.events, "\n"), "closed") })
			if got := h.saw("1 goodbye")(); got != tt.goodbye {
				t.Errorf("goodbye %t, want %t: %q", got, tt.goodbye, h.events)
			}
		})
	}
}

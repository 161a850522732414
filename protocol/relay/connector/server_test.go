package connector

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/shell/shelltest"
)

// real carries the script out over loopback sockets.
type real struct {
	t       *testing.T
	server  *Server
	game    uint16
	sockets map[byte]*net.UDPConn
	pile    map[byte][]arrival // what came to each and was not asked for yet
	seen    map[string]bool    // what was asked for: it may come again
}

type arrival struct {
	from uint16
	b    []byte
}

func newReal(t *testing.T, c Config) *real {
	c.linger = cmp.Or(c.linger, 2*time.Second)
	s, err := Listen("127.0.0.1:0", c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &real{t: t, server: s, sockets: map[byte]*net.UDPConn{}, pile: map[byte][]arrival{}, seen: map[string]bool{}}
}

func (r *real) socket(who byte) *net.UDPConn {
	if r.sockets[who] == nil {
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { conn.Close() })
		r.sockets[who] = conn
	}
	return r.sockets[who]
}

func (r *real) number(port string) uint16 {
	if port == "main" {
		return r.server.Addr().Port()
	}
	return r.game
}

func (r *real) send(who byte, port, hex string) {
	to := netip.AddrPortFrom(r.server.Addr().Addr(), r.number(port))
	if _, err := r.socket(who).WriteToUDPAddrPort(unhex(r.t, hex), to); err != nil {
		r.t.Fatal(err)
	}
}

func (r *real) get(_, _ time.Duration, who byte, port, want string) {
	r.t.Helper()
	if strings.Contains(want, "PPPP") {
		r.learnPort(who, unhex(r.t, strings.ReplaceAll(want, "PPPP", "")))
		return
	}
	b := unhex(r.t, want)
	if b[0] == 0x80 {
		r.confirmed(who, port, b[4:])
		return
	}
	r.seen[fmt.Sprintf("%c %d %x", who, r.number(port), b)] = true
	r.await(who, func(a arrival) bool { return a.from == r.number(port) && bytes.Equal(a.b, b) }, want)
}

// confirmed waits until all ids are confirmed: a busy machine may have them come one by one.
func (r *real) confirmed(who byte, port string, ids []byte) {
	r.t.Helper()
	for ; len(ids) > 0; ids = ids[3:] {
		r.await(who, func(a arrival) bool {
			for i := 4; a.from == r.number(port) && a.b[0] == 0x80 && i+3 <= len(a.b); i += 3 {
				if bytes.Equal(a.b[i:i+3], ids[:3]) {
					r.pile[who] = append(r.pile[who], a) // it may confirm others as well
					return true
				}
			}
			return false
		}, fmt.Sprintf("the confirmation of %x", ids[:3]))
	}
}

// play has a client open a game, and be its first player.
func (r *real) play(who byte) {
	r.t.Helper()
	r.send(who, "main", "50 000000 01 02")
	r.get(0, 0, who, "main", "50 000000 01 fb PPPP")
	r.send(who, "main", "80 000000 000000")
	r.get(0, 0, who, "game", "50 000000 02 00")
	r.send(who, "game", "80 000000 000000")
}

// learnPort takes the game's port from the GameOpened that has it at its end.
func (r *real) learnPort(who byte, start []byte) {
	r.t.Helper()
	a := r.await(who, func(a arrival) bool {
		return a.from == r.number("main") && bytes.HasPrefix(a.b, start) && len(a.b) == len(start)+2
	}, "GameOpened")
	r.seen[fmt.Sprintf("%c %d %x", who, a.from, a.b)] = true
	r.game = uint16(a.b[len(a.b)-2])<<8 | uint16(a.b[len(a.b)-1])
}

// await returns the first datagram that came to a client and is wanted.
func (r *real) await(who byte, wanted func(arrival) bool, what string) arrival {
	r.t.Helper()
	var b [1024]byte
	if end, ok := r.t.Deadline(); ok {
		r.socket(who).SetReadDeadline(end.Add(-5 * time.Second)) // so that the test says what it waited for
	}
	for {
		for i, a := range r.pile[who] {
			if wanted(a) {
				r.pile[who] = slices.Delete(slices.Clone(r.pile[who]), i, i+1)
				return a
			}
		}
		n, from, err := r.socket(who).ReadFromUDPAddrPort(b[:])
		if err != nil {
			r.t.Fatalf("%s did not come to %c: %v; there are %v", what, who, err, r.pile[who])
		}
		r.pile[who] = append(r.pile[who], arrival{from.Port(), bytes.Clone(b[:n])})
	}
}

func (r *real) quiet(time.Duration) {}

// ask sends a datagram, again and again, until the answer has come that is wanted.
func (r *real) ask(who byte, port, hex string, wanted func(b []byte) bool) {
	r.t.Helper()
	var b [1024]byte
	end, limited := r.t.Deadline()
	for {
		r.send(who, port, hex)
		r.socket(who).SetReadDeadline(time.Now().Add(200 * ms))
		for {
			n, _, err := r.socket(who).ReadFromUDPAddrPort(b[:])
			if err != nil {
				break
			}
			if wanted(b[:n]) {
				return
			}
		}
		if limited && time.Until(end) < 5*time.Second {
			r.t.Fatalf("no answer to %s", hex)
		}
	}
}

// left fails for each datagram that came and was no repeat of one in the script.
func (r *real) left() {
	r.t.Helper()
	for who, pile := range r.pile {
		for _, a := range pile {
			// A confirmation may come in other company than in virtual time.
			if a.b[0] != 0x80 && !r.seen[fmt.Sprintf("%c %d %x", who, a.from, a.b)] {
				r.t.Errorf("%c got %s from port %d, which is not in the script", who, hex.EncodeToString(a.b), a.from)
			}
		}
	}
}

// until waits for the counters to be as they are wanted, as the loop that counts is another
// goroutine.
func until(t *testing.T, s *Server, what string, ok func(ServerStats) bool) {
	t.Helper()
	end, limited := t.Deadline()
	for !ok(s.Stats()) {
		if limited && time.Until(end) < 5*time.Second {
			t.Fatalf("%s: %+v", what, s.Stats())
		}
		runtime.Gosched()
	}
}

// The same exchange over loopback sockets.
func TestScriptOverSockets(t *testing.T) {
	before := shelltest.Census(1 << 20)
	r := newReal(t, Config{})
	playScript(r)
	r.left()
	until(t, r.server, "the game did not close", func(s ServerStats) bool { return s.Games == 0 && s.Players == 0 })
	if s := r.server.Stats(); s.Lobby.Check() != nil || s.Mux.Check() != nil || s.Lobby.Messages != 5 || s.Lobby.Opened != 1 {
		t.Errorf("%+v", s)
	}
	if err := r.server.Close(); err != nil {
		t.Error(err)
	}
	for _, conn := range r.sockets {
		conn.Close()
	}
	if err := shelltest.Census(before.Goroutines).Grown(before); err != nil {
		t.Error(err)
	}
}

func TestShutdownTellsPlayersAndWaitsForThem(t *testing.T) {
	r := newReal(t, Config{linger: time.Minute})
	r.play('A')
	done := make(chan error)
	go func() { done <- r.server.Shutdown(context.Background()) }()
	r.get(0, 0, 'A', "game", "50 000001 04")
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	r.send('A', "game", "80 000000 000001")
	if err := patient.Value(done); err != nil {
		t.Error(err)
	}
	if s := r.server.Stats(); s.Games != 0 || s.Players != 0 || s.Peers != 0 || s.Lobby.Closed != 1 {
		t.Errorf("%+v", s)
	}
	if err := r.server.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestCloseTellsPlayersOnce(t *testing.T) {
	var lines strings.Builder
	r := newReal(t, Config{Log: shelltest.Log(&lines)})
	r.play('A')
	if err := r.server.Close(); err != nil {
		t.Error(err)
	}
	r.get(0, 0, 'A', "game", "10 000000 04")
	if err := r.server.Close(); err != nil {
		t.Error(err)
	}
	if name := fmt.Sprintf("name=\"player 0 at port %d\"", r.game); !strings.Contains(lines.String(), name) || !strings.Contains(lines.String(), "msg=left") {
		t.Errorf("the log is\n%s", lines.String())
	}
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	r := newReal(t, Config{})
	r.play('A')
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.server.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	select {
	case <-r.server.Done():
	default:
		t.Error("it is not closed")
	}
}

// Games have the ports of the range, and there are no more of them than ports.
func TestPortsOfGames(t *testing.T) {
	// The port is nobody's for a moment: it is one that the system gives to none who asks for any.
	var probe *net.UDPConn
	var err error
	for try := range 1000 {
		if probe, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 20_000 + (os.Getpid()+try)%10_000}); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	port := uint16(probe.LocalAddr().(*net.UDPAddr).Port)
	r := newReal(t, Config{FirstPort: port, LastPort: port})
	r.send('A', "main", "50 000000 01 02")
	r.get(0, 0, 'A', "main", "50 000000 02 00") // somebody has the port
	probe.Close()
	r.send('A', "main", "50 000001 01 02")
	r.get(0, 0, 'A', "main", fmt.Sprintf("50 000001 01 fb %04x", port))
	r.send('B', "main", "50 000000 01 02")
	r.get(0, 0, 'B', "main", "50 000000 02 00")
	if s := r.server.Stats(); s.Games != 1 || s.Lobby.Unopened != 2 {
		t.Errorf("%+v", s)
	}
}

func TestListenOnAPortThatIsTaken(t *testing.T) {
	r := newReal(t, Config{})
	if s, err := Listen(r.server.Addr().String(), Config{}); err == nil {
		s.Close()
		t.Error("no error")
	}
}

package core

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/wire"
)

// start is when tests begin. It has no monotonic clock, as a simulation has none.
var start = time.Unix(1_700_000_000, 0)

// addr returns the address of raw client i: on the internet, so that it has to be proven.
func addr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, byte(i >> 16), byte(i >> 8), byte(i)}), 5000)
}

// near returns the address of raw client i on a private network, which needs no proof.
func near(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 5000)
}

func newShared(seed uint64) *Shared { return &Shared{Rand: rand.New(rand.NewPCG(seed, 9))} }

// hall is a server core with raw clients around it: the test writes their datagrams.
type hall struct {
	t      testing.TB
	now    time.Time
	mux    *Mux
	events []string
	heard  []Event // with payloads of their own
	whose  []*Peer
	out    map[netip.AddrPort][][]byte
	sizes  map[netip.AddrPort]int // bytes sent to each so far
	others []*Port                // that the lobby opened
	deaf   bool                   // of events and datagrams nothing is kept
	buf    [MaxDatagram]byte
}

func newHall(t testing.TB, c Config) *hall {
	h := &hall{t: t, now: start, out: map[netip.AddrPort][][]byte{}, sizes: map[netip.AddrPort]int{}}
	if c.Lobby == nil { // the document's clients are easier to write than ours: see proof_test.go for those
		c.Lobby = NewOpenLobby(OpenConfig{Unproven: true})
	}
	h.mux = NewMux(start, c, newShared(1), admission.Key{1}, h)
	return h
}

// OpenPort lets the lobby have further ports.
func (h *hall) OpenPort(p *Port) (uint16, error) {
	h.others = append(h.others, p)
	return uint16(9000 + len(h.others)), nil
}

// ports yields all ports, those that are closed too.
func (h *hall) ports(yield func(*Port) bool) {
	for i := -1; i < len(h.others); i++ {
		port := h.mux.first
		if i >= 0 {
			port = h.others[i]
		}
		if !yield(port) {
			return
		}
	}
}

// in hands a datagram to the first port and runs a turn.
func (h *hall) in(from netip.AddrPort, b []byte) {
	h.mux.HandleDatagram(h.now, from, b)
	h.turn()
}

// turn polls events and datagrams, as a loop does.
func (h *hall) turn() {
	for range 1_000_000 {
		p, ev, ok := h.mux.PollEvent()
		if !ok {
			h.transmit()
			return
		}
		if h.deaf {
			continue
		}
		h.events = append(h.events, describe(p, ev))
		ev.Package.Payload = bytes.Clone(ev.Package.Payload)
		h.heard, h.whose = append(h.heard, ev), append(h.whose, p)
	}
	h.t.Fatal("PollEvent does not end")
}

func (h *hall) transmit() {
	for port := range h.ports {
		for i := 0; ; i++ {
			n, to, ok := port.PollTransmit(h.buf[:])
			if !ok {
				break
			}
			if !h.deaf {
				h.out[to] = append(h.out[to], bytes.Clone(h.buf[:n]))
				h.sizes[to] += n
			}
			if i > 1_000_000 {
				h.t.Fatal("PollTransmit does not end")
			}
		}
	}
	for _, ok := h.mux.PollPort(); ok; _, ok = h.mux.PollPort() {
	}
}

// wait lets time pass, with all timeouts at their times.
func (h *hall) wait(d time.Duration) {
	end := h.now.Add(d)
	for range 1_000_000 {
		next, due := end, (*Port)(nil)
		for port := range h.ports {
			if at, ok := port.NextTimeout(); ok && !at.After(next) {
				next, due = at, port
			}
		}
		if due == nil {
			h.now = end
			return
		}
		if next.After(h.now) {
			h.now = next
		}
		due.HandleTimeout(h.now)
		h.turn()
	}
	h.t.Fatalf("time does not pass: %v", h.now.Sub(start))
}

// took returns what was sent to an address since it was last asked.
func (h *hall) took(to netip.AddrPort) []string {
	var list []string
	for _, b := range h.out[to] {
		list = append(list, spell(b))
	}
	delete(h.out, to)
	return list
}

// told returns the events since it was last asked.
func (h *hall) told() []string {
	list := h.events
	h.events, h.heard, h.whose = nil, nil, nil
	return list
}

func (h *hall) wantSent(to netip.AddrPort, want ...string) {
	h.t.Helper()
	if got := h.took(to); !slices.Equal(got, want) {
		h.t.Errorf("at %v, sent to %v:\ngot  %q\nwant %q", h.now.Sub(start), to, got, want)
	}
}

func (h *hall) wantTold(want ...string) {
	h.t.Helper()
	if got := h.told(); !slices.Equal(got, want) {
		h.t.Errorf("at %v, told:\ngot  %q\nwant %q", h.now.Sub(start), got, want)
	}
}

// join lets an address in with an empty reliable package, and takes the challenge that it gets.
func (h *hall) join(a netip.AddrPort) (challenge []byte) {
	h.t.Helper()
	h.in(a, pack(Unordered, true, 0, ""))
	for _, b := range h.out[a] {
		var d Datagram
		if d.Parse(b) && isChallenge(d.Payload) {
			challenge = d.Payload
		}
	}
	if challenge == nil {
		h.t.Fatalf("%v joined and was sent %q", a, h.took(a))
	}
	delete(h.out, a)
	h.in(a, confirmOf(0)) // of the challenge
	return challenge
}

// ask sends a first package to a room that wants proof, and returns the challenge that comes for it.
func (h *hall) ask(a netip.AddrPort, first string) (challenge string) {
	h.t.Helper()
	h.in(a, pack(Unordered, true, 0, first))
	var d Datagram
	if len(h.out[a]) != 1 || !d.Parse(h.out[a][0]) || !d.ToServer || d.Mode != Unordered || d.ID != 0 || !isChallenge(d.Payload) {
		h.t.Fatalf("%v knocked and was sent %q", a, h.took(a))
	}
	delete(h.out, a)
	return string(d.Payload)
}

// prove lets an address in that answers its challenge, as our own client does.
func (h *hall) prove(a netip.AddrPort, first string) {
	h.t.Helper()
	challenge := h.ask(a, first)
	h.in(a, pack(Unordered, true, 1, challenge))
	h.in(a, pack(Unordered, true, 0, first))
	if h.mux.First().Peer(a) == nil {
		h.t.Fatalf("%v was not let in and was sent %q", a, h.took(a))
	}
}

// pack writes a package.
func pack(mode Mode, server bool, id uint32, payload string) []byte {
	d := Datagram{Kind: KindPackage, Mode: mode, ToServer: server, ID: id, Payload: []byte(payload)}
	return d.AppendTo(nil)
}

// confirmOf writes a confirmation.
func confirmOf(ids ...uint32) []byte {
	d := Datagram{Kind: KindConfirmation}
	for _, id := range ids {
		d.IDs = AppendID(d.IDs, id)
	}
	return d.AppendTo(nil)
}

// spell writes a datagram for people.
func spell(b []byte) string {
	var d Datagram
	switch {
	case !d.Parse(b):
		return fmt.Sprintf("malformed %x", b)
	case d.Kind == KindConfirmation:
		return fmt.Sprintf("confirm %v", allIDs(&d))
	}
	from := "others"
	if d.ToServer {
		from = "server"
	}
	payload := fmt.Sprintf("%q", d.Payload)
	if nonce, ok := readChallenge(d.Payload); ok && nonce != 0 {
		payload = "challenge"
	}
	return fmt.Sprintf("%s %s %d %s", d.Mode, from, d.ID, payload)
}

func describe(p *Peer, ev Event) string {
	if ev.Kind == EventPass {
		return fmt.Sprintf("%s shows %q", ev.Newcomer.Addr().Addr(), ev.Newcomer.Pass())
	}
	who := fmt.Sprint(p.end.Addr().Addr())
	switch ev.Kind {
	case EventAcked:
		return fmt.Sprintf("%s acked %d", who, ev.Tag)
	case EventPackage:
		return fmt.Sprintf("%s %s %q", who, ev.Package.Mode, ev.Package.Payload)
	case EventLeft:
		return fmt.Sprintf("%s left: %v", who, ev.Close.Reason)
	}
	return fmt.Sprintf("%s %s", who, ev.Kind)
}

// number makes a payload of a number, and back.
func number(n int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(n))) }

func numberOf(b []byte) int {
	r := wire.Big(b)
	return int(r.U32("number"))
}

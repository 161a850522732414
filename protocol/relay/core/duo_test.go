package core

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

var (
	duoClient = netip.MustParseAddrPort("10.0.0.2:5000")
	duoServer = netip.MustParseAddrPort("10.0.0.1:7000")
)

// duo is two endpoints on a simulated link, both open, with all counters at a first number of
// the test's choice.
type duo struct {
	t      testing.TB
	net    *simnet.Network
	ends   [2]*Endpoint
	hosts  [2]*simnet.Host
	got    [2][]Package // that each end was given, with payloads of their own
	left   [2]*Close
	paused [2]bool // this end reads no events
}

func newDuo(t testing.TB, seed uint64, rules Rules, first uint64, p simnet.Profile) *duo {
	d := &duo{t: t, net: simnet.New(seed)}
	d.net.Default(p)
	filled := rules.fill()
	for i, peer := range []netip.AddrPort{duoServer, duoClient} {
		e := newEndpoint(d.net.Now(), peer, i == 0, filled, newShared(seed+uint64(i)), first)
		d.ends[i] = &e
		d.hosts[i] = d.net.Add([]netip.AddrPort{duoClient, duoServer}[i], &e)
		d.hosts[i].AfterTurn(func(now time.Time) { d.drain(i, now) })
	}
	return d
}

func (d *duo) drain(i int, now time.Time) {
	d.ends[i].Advance(now)
	for !d.paused[i] {
		ev, ok := d.ends[i].PollEvent()
		if !ok {
			return
		}
		switch ev.Kind {
		case EventPackage:
			ev.Package.Payload = bytes.Clone(ev.Package.Payload)
			d.got[i] = append(d.got[i], ev.Package)
		case EventLeft:
			if d.left[i] != nil {
				d.t.Fatal("it left twice")
			}
			d.left[i] = &ev.Close
		}
	}
}

// send sends from one end, and polls it.
func (d *duo) send(i int, mode Mode, payload string) error {
	err := d.ends[i].Send(d.hosts[i].Now(), mode, ToServer, []byte(payload))
	d.hosts[i].Poke()
	return err
}

func (d *duo) run(dt time.Duration) {
	d.t.Helper()
	if err := d.net.Run(dt); err != nil {
		d.t.Fatal(err)
	}
}

// until runs until a condition holds.
func (d *duo) until(what string, limit time.Duration, cond func() bool) {
	d.t.Helper()
	if err := d.net.RunUntil(cond, limit); err != nil {
		d.t.Fatalf("%s: %v; %v and %v", what, err, d.ends[0].Stats(), d.ends[1].Stats())
	}
}

// law checks what one end got of numbered packages: reliable ones once each, semi-ordered ones after
// all before them. complete says that all are to be there.
func law(got []Package, sent []Mode, complete bool) error {
	seen := make([]bool, len(sent))
	upto := 0
	for _, p := range got {
		n := numberOf(p.Payload)
		switch {
		case n >= len(sent) || p.Mode != sent[n]:
			return fmt.Errorf("package %d came as %v", n, p.Mode)
		case !p.Mode.Reliable():
			continue
		case seen[n]:
			return fmt.Errorf("package %d came twice", n)
		}
		seen[n] = true
		for upto < len(sent) && (seen[upto] || !sent[upto].Reliable()) {
			upto++
		}
		if p.Mode == SemiOrdered && upto <= n {
			return fmt.Errorf("semi-ordered package %d came before %d", n, upto)
		}
	}
	for upto < len(sent) && (seen[upto] || !sent[upto].Reliable()) {
		upto++
	}
	if complete && upto < len(sent) {
		return fmt.Errorf("package %d of %d is missing", upto, len(sent))
	}
	return nil
}

// talk sends n packages in random modes from one end, as fast as it is let.
func (d *duo) talk(i, n int, rng *rand.Rand) (sent []Mode) {
	d.t.Helper()
	for len(sent) < n {
		mode := Mode(rng.IntN(3))
		switch err := d.send(i, mode, number(len(sent))); err {
		case nil:
			sent = append(sent, mode)
		case ErrBacklogFull:
			d.run(10 * time.Millisecond)
		default:
			d.t.Fatal(err)
		}
		if rng.IntN(4) == 0 {
			d.run(time.Duration(rng.IntN(3)) * time.Millisecond)
		}
	}
	return sent
}

// settle waits until all is confirmed.
func (d *duo) settle() {
	d.t.Helper()
	d.until("all is confirmed", time.Minute, func() bool { return d.ends[0].Unconfirmed()+d.ends[1].Unconfirmed() == 0 })
}

// T9: every counter starts a little before its end, and at 64 random numbers: nothing is lost,
// doubled or out of order over the wrap, with a tenth of all datagrams lost.
func TestWrapOfAllCounters(t *testing.T) {
	seed := kit.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	lossy := simnet.Profile{Delay: 5 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: 0.1, Duplicate: 0.05}
	wrap := func(first uint64, n int) {
		d := newDuo(t, rng.Uint64(), Rules{}, first, lossy)
		sent := d.talk(0, n, rng)
		back := d.talk(1, n/10, rng)
		d.settle()
		d.run(time.Second)
		for i, s := range [][]Mode{back, sent} {
			if err := law(d.got[i], s, true); err != nil {
				t.Fatalf("seed=%d from %d: %v", seed, first, err)
			}
		}
		if at := d.ends[0].sender.Next(); first&MaxID > MaxID-400 && at>>24 == first>>24 {
			t.Fatalf("from %d to %d: no wrap", first, at)
		}
	}
	wrap(1<<24-100, promise.Keeps(t, "T9", "relay", kit.Rounds(100_000, 1_000_000)))
	for range 64 {
		wrap(uint64(rng.Uint32()), kit.Rounds(1000, 100_000))
		wrap(1<<24*uint64(1+rng.IntN(5))-uint64(1+rng.IntN(300)), max(kit.Rounds(1000, 100_000), 600))
	}
}

// T9: a whole cycle of 2^24 reliable ids, and some more. Most packages are empty, which spares
// what comes after the ids; each 61st is semi-ordered and says its number.
func TestFullCycleOfReliableIDs(t *testing.T) {
	t.Parallel()
	rules := Rules{}.fill()
	a := newEndpoint(start, duoServer, true, rules, newShared(1), 0)
	b := newEndpoint(start, duoClient, false, rules, newShared(2), 0)
	total := promise.Keeps(t, "T9", "relay", kit.Rounds(1<<24+5000, 1<<25+5000))
	now, next, told := start, 0, 0
	var buf [MaxDatagram]byte
	move := func(from, to *Endpoint) {
		from.Advance(now)
		for n, _, ok := from.PollTransmit(buf[:]); ok; n, _, ok = from.PollTransmit(buf[:]) {
			to.handle(now, buf[:n])
		}
	}
	empty := outgoing{flags: packageFlags(Unordered, true)}
	for next < total {
		now = now.Add(21 * time.Millisecond)
		for range min(504, total-next) {
			if next%61 != 0 {
				_ = a.sendReliable(now, empty)
			} else if err := a.Send(now, SemiOrdered, ToServer, []byte(number(next))); err != nil {
				t.Fatal(err)
			}
			next++
		}
		move(&a, &b)
		for ev, ok := b.PollEvent(); ok; ev, ok = b.PollEvent() {
			if got := numberOf(ev.Package.Payload); got != 61*told || ev.Package.ID != uint32(got)&MaxID {
				t.Fatalf("package %d came as %d with id %d", 61*told, got, ev.Package.ID)
			}
			told++
		}
		now = now.Add(21 * time.Millisecond)
		move(&b, &a)
	}
	st := b.Stats().Reliable
	if st.Delivered != uint64(total) || told != (total+60)/61 || a.Unconfirmed() != 0 || st.Repeat > 0 {
		t.Errorf("%d of %d came, %d of them told, %d are unconfirmed, %d came again", st.Delivered, total, told, a.Unconfirmed(), st.Repeat)
	}
}

// T9: the same for unreliable ids: what is delivered, and that a leaving package is known by its id.
func TestFullCycleOfUnreliableIDs(t *testing.T) {
	t.Parallel()
	a := newEndpoint(start, duoServer, true, Rules{}.fill(), newShared(1), 0)
	b := newEndpoint(start, duoClient, false, Rules{}.fill(), newShared(2), 0)
	total := promise.Keeps(t, "T9", "relay", kit.Rounds(1<<24+5000, 1<<25+5000))
	var buf [MaxDatagram]byte
	for range total {
		a.sendLoose(outgoing{flags: packageFlags(Unreliable, false)})
		n, _, ok := a.PollTransmit(buf[:])
		if !ok {
			t.Fatal("nothing is sent")
		}
		b.handle(start, buf[:n])
	}
	if want := uint32(total) & MaxID; a.nextLoose != want || b.newestLoose != want-1 || b.stats.Loose != uint64(total) {
		t.Errorf("the ids are at %d and %d, want %d", a.nextLoose, b.newestLoose, want)
	}
	a.sendLoose(farewell)
	n, _, _ := a.PollTransmit(buf[:])
	if b.handle(start, buf[:n]); b.state != StateClosed {
		t.Error("it has not left")
	}
}

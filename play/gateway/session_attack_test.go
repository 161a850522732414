package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"parley/account"
	"parley/account/storetest"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/play/bots"
	"parley/play/message"
	duplexcore "parley/protocol/duplex/core"
	"parley/protocol/realm"
)

// "a kick or a ban ends it at once": a banned account leaves no body behind that is held.
func TestABanEndsASessionAtOnce(t *testing.T) {
	h := newArena(t, Config{Hold: time.Hour})
	var d *Realm
	service := account.New(new(storetest.Memory), account.Config{OnEnd: func(s *account.Session, why account.EndReason) { d.SessionEnded(s, why) }})
	defer service.Close()
	d = plainRealm(h, NewAccounts(service))
	until := live(t, h)
	p := playRealm(t, h, d, "ann")
	if code, err := p.Register(t.Context(), "ann", "correct horse"); err != nil || code != realm.RegisterOK {
		t.Fatalf("registering: %v, %v", code, err)
	}
	if code := p.login(t, "ann", "correct horse"); code != realm.LoginOK {
		t.Fatalf("the log-in: %v", code)
	}
	until("it is in", func() bool { return h.Stats().Players == 1 })
	done := make(chan struct{})
	if err := service.Ban("ann", time.Time{}, "cheating", func(account.Answer) { close(done) }); err != nil {
		t.Fatal(err)
	}
	patient.Value(done)
	until("it has left", func() bool { return h.Stats().Players == 0 })
}

// Who joins over duplex and is refused, again and again, uses up no numbers, and no places.
func TestRefusedDuplexPlayersUseNoNumbersUp(t *testing.T) {
	h, d := openDuplex(t, Config{PerAddress: 1})
	g := join(t, h, d, nil)
	if g.told() != "" {
		t.Fatalf("the first is told %q", g.told())
	}
	first := h.main.sim.Reserve()
	const n = 600
	for range n {
		c := must(net.Dial("tcp", d.Addr().String()))
		c.SetDeadline(time.Now().Add(30 * time.Second))
		c.Write([]byte{duplexcore.CodeConnInit})
		rep := make([]byte, 7)
		if _, err := io.ReadFull(c, rep); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		c.Write([]byte{duplexcore.CodeConnFailed})
		over := make(chan struct{})
		go func() { io.Copy(io.Discard, c); close(over) }()
		until(t, h, "it is refused", func() bool {
			select {
			case <-over:
				return true
			default:
				return false
			}
		})
		c.Close()
	}
	ticks(t, h, 50)
	if last := h.main.sim.Reserve(); last > first+2*spareNumbers {
		t.Errorf("after %d who were refused the next number is %d, and was %d", n, last, first)
	}
	if h.players != 1 || h.crowd.Len() != 1 {
		t.Errorf("%d players, %d places", h.players, h.crowd.Len())
	}
	t.Logf("%d were refused as their address had too many", h.stats.Crowded)
}

// Two connections that take one player from each other have one body between them, whichever dialects they use, and nobody else is
// touched.
func TestResumePingPong(t *testing.T) {
	h := newArena(t, Config{PerAddress: -1})
	var all []listener
	for _, d := range passDialects {
		all = append(all, d.open(h))
	}
	other := join(t, h, all[0], nil)
	ids := func() (list []int) {
		for _, p := range h.main.Players() {
			list = append(list, int(p.ID), int(h.main.sim.Wire(h.main.entityOf(p))))
		}
		return list
	}
	token := func(i int) (tok message.Token) {
		for _, p := range h.main.Players() {
			if i++; i == 2 && p.seat != nil {
				tok = p.seat.token
			}
		}
		return tok
	}
	last := join(t, h, all[1], nil)
	want := fmt.Sprint(ids())
	tok := token(0)
	n := promise.Keeps(t, "T69", "wire", promise.Tier(10, 60, 200))
	for i := range n {
		d := all[i%len(all)]
		next := join(t, h, d, message.AppendSessionPass(nil, tok))
		if next.told() != "" {
			t.Fatalf("%d: over %s it is told %q", i, d.Name(), next.told())
		}
		until(t, h, "the one before is out", func() bool { return last.told() != "" })
		if got := fmt.Sprint(ids()); got != want {
			t.Fatalf("%d: players and numbers are %s, and were %s", i, got, want)
		}
		if len(h.sessions) > 4 {
			t.Fatalf("%d sessions of two players", len(h.sessions))
		}
		last, tok = next, token(0)
	}
	if other.told() != "" {
		t.Errorf("another player is told %q", other.told())
	}
	// A kick while somebody is on its way back ends it all.
	late := come(t, h, all[2], message.AppendSessionPass(nil, tok))
	until(t, h, "it is on its way, or in", func() bool {
		ps := h.main.Players()
		if len(ps) > 1 { // the other is not to go
			h.main.Kick(ps[1].ID, "go")
		}
		return len(ps) == 1 || late.told() != ""
	})
	until(t, h, "all but the other are out", func() bool { return h.players == 1 && last.told() != "" && late.told() != "" })
	if len(h.sessions) > 2 {
		t.Errorf("%d sessions of one player", len(h.sessions))
	}
}

// T70: rooms come and go with players of all dialects, and the dialects keep nothing of them.
func TestRoomsComeAndGoOverTheWire(t *testing.T) {
	h := newArena(t, Config{PerAddress: -1})
	n := promise.Keeps(t, "T70", "wire", promise.Tier(20, 150, 1000))
	all := []listener{plainRealm(h, nil)}
	for _, d := range passDialects {
		all = append(all, d.open(h))
	}
	var before int64
	goroutines := 0
	for i := range n {
		if i == n/3 {
			before, goroutines = inUse(), runtime.NumGoroutine()
		}
		r := must(h.Open(Settings{Name: "arena", Seed: uint64(i)}))
		var list []*guest
		for _, d := range all {
			g := &guest{}
			list = append(list, g)
			c := bots.Config{Schema: h.main.sim.Schema(), TickRate: h.cfg.TickRate, Name: "ann", Plain: true, Room: "arena", Notice: g.notice}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			joined := make(chan struct{})
			go func() {
				defer close(joined)
				p, err := bots.Join(ctx, d.Name(), d.Addr().String(), c)
				g.mu.Lock()
				defer g.mu.Unlock()
				if g.Player, g.joined = p, true; err != nil {
					g.end = err.Error()
				}
			}()
			until(t, h, d.Name()+" is in or out", g.decided)
			if patient.Value(joined); g.told() != "" {
				t.Fatalf("%s: it is told %q", d.Name(), g.told())
			}
			cancel()
		}
		if len(r.players) != len(all) {
			t.Fatalf("%d players", len(r.players))
		}
		if err := h.CloseRoom("arena"); err != nil {
			t.Fatal(err)
		}
		until(t, h, "all are out", func() bool {
			for _, g := range list {
				if g.told() == "" {
					return false
				}
			}
			return true
		})
		for _, g := range list {
			g.Close(context.Background())
		}
	}
	until(t, h, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
	after := inUse()
	t.Logf("%d rooms: %d KiB in use after a third of them, %d at the end", n, before>>10, after>>10)
	if after > before+before/4+1<<20 {
		t.Errorf("the heap has grown from %d to %d bytes", before, after)
	}
	if h.players != 0 || h.crowd.Len() != 0 || len(h.sessions) != 0 {
		t.Errorf("%d players, %d places, %d sessions", h.players, h.crowd.Len(), len(h.sessions))
	}
}

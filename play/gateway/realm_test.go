package gateway

import (
	"strings"
	"sync"
	"testing"
	"time"

	"parley/account"
	"parley/account/storetest"
	"parley/internal/patient"
	"parley/play/schema"
	"parley/protocol/realm"
	"parley/protocol/realm/core"
)

// realmPlayer is a client and what it was told.
type realmPlayer struct {
	*realm.Client
	hub    *Hub
	mu     sync.Mutex
	own    uint16
	done   int
	chunks int
}

func playRealm(t *testing.T, h *Hub, d *Realm, name string) *realmPlayer {
	t.Helper()
	config := core.Config{Schema: schema.Realm(h.main.sim.Schema(), 0), TickRate: h.cfg.TickRate}
	p := &realmPlayer{hub: h, Client: must(realm.Dial(t.Context(), d.Addr().String(), realm.Config{Config: config, Plain: true}))}
	follow(t, p.Close, p.Events(), func(ev realm.Event) {
		if ev.Kind == realm.EventMessage {
			p.take(ev.Message, name)
		}
	})
	return p
}

// login logs in. If the machine stood still, the hub is behind the clock and lets nobody in for a while: then it tries again.
func (p *realmPlayer) login(t *testing.T, name, password string) core.LoginCode {
	t.Helper()
	for {
		shed := p.hub.Stats().Shed
		code := must(p.Login(t.Context(), name, password))
		if code != core.LoginPlayerLimitReached {
			return code
		}
		tick := p.hub.Stats().Ticks
		patient.Until(t, "the counters are those of the tick that refused it", func() bool { return p.hub.Stats().Ticks > tick })
		if p.hub.Stats().Shed == shed {
			return code
		}
	}
}

func (p *realmPlayer) take(m *core.Message, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Kind {
	case core.KindMetaAction:
		if string(m.Name) == name {
			p.own = m.ID
		}
	case core.KindActionsDone:
		p.done += m.Actions.Len()
	case core.KindChunkUpdate:
		p.chunks++
	case core.KindChunksUpdate:
		p.chunks += m.Chunks.Len()
	}
}

func (p *realmPlayer) is(cond func() bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cond()
}

func plainRealm(h *Hub, accounts *Accounts) *Realm {
	return must(NewRealm(h, RealmConfig{Addr: loopback, Accounts: accounts, Server: realm.Config{Plain: true}}))
}

func TestRealmPlayersHaveAccounts(t *testing.T) {
	h := newArena(t, Config{})
	service := account.New(new(storetest.Memory), account.Config{})
	defer service.Close()
	d := plainRealm(h, NewAccounts(service))
	until := live(t, h)
	a := playRealm(t, h, d, "ann")
	if code, err := a.Register(t.Context(), "ann", "correct horse"); err != nil || code != realm.RegisterOK {
		t.Fatalf("registering: %v, %v", code, err)
	}
	if code := a.login(t, "ann", "wrong horse"); code != core.LoginWrongPassword {
		t.Errorf("a wrong password: %v", code)
	}
	if code := a.login(t, "ann", "correct horse"); code != realm.LoginOK {
		t.Fatalf("the right password: %v", code)
	}
	b := playRealm(t, h, d, "ann")
	if code := b.login(t, "ann", "correct horse"); code != core.LoginAlreadyConnected {
		t.Errorf("a second time: %v", code)
	}
	done := make(chan struct{})
	if err := service.Ban("ann", time.Time{}, "cheating", func(account.Answer) { close(done) }); err != nil {
		t.Fatal(err)
	}
	patient.Value(done)
	a.Close(t.Context())
	until("it left", func() bool { return h.Stats().Players == 0 })
	c := playRealm(t, h, d, "ann")
	if _, err := c.Login(t.Context(), "ann", "correct horse"); err == nil || !strings.Contains(err.Error(), "ban") {
		t.Errorf("who is banned is told %v", err)
	}
}

// Who was not let in may log in again over the same connection, and what was made of the log-in before is gone.
func TestARealmPlayerWhoWasRefusedLogsInAgain(t *testing.T) {
	h := newArena(t, Config{PerAddress: 1})
	d := plainRealm(h, nil)
	until := live(t, h)
	a, b := playRealm(t, h, d, "ann"), playRealm(t, h, d, "bob")
	if code := a.login(t, "ann", ""); code != realm.LoginOK {
		t.Fatalf("ann: %v", code)
	}
	for range 3 {
		if code := b.login(t, "bob", ""); code != core.LoginPlayerLimitReached {
			t.Fatalf("bob, beyond the limit: %v", code)
		}
	}
	a.Close(t.Context())
	until("ann left", func() bool { return h.Stats().Players == 0 })
	if code := b.login(t, "bob", ""); code != realm.LoginOK {
		t.Fatalf("bob, within the limit: %v", code)
	}
	until("only bob has a seat", func() bool { st := h.Stats(); return st.Players == 1 && st.Seats.Realm == 1 })
	b.Close(t.Context())
	until("all are gone", func() bool { st := h.Stats(); return st.Players == 0 && st.Seats.Realm == 0 })
}

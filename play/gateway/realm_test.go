package gateway

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/account"
	"parley/account/storetest"
	"parley/arena"
	"parley/internal/patient"
	"parley/play/schema"
	"parley/protocol/realm"
	"parley/protocol/realm/core"
	"parley/world"
)

// realmPlayer is a client and what it was told.
type realmPlayer struct {
	*realm.Client
	mu       sync.Mutex
	own      uint16
	entities map[uint16]core.Position
	players  map[uint16]string
	said     []string
	done     int
	named    map[uint16]uint16
	chunks   int
}

func playRealm(t *testing.T, h *Hub, d *Realm, name string) *realmPlayer {
	t.Helper()
	game, err := schema.Realm(h.sim.Schema())
	if err != nil {
		t.Fatal(err)
	}
	return playRealmAt(t, d, name, core.Config{Schema: game})
}

func playRealmAt(t *testing.T, d *Realm, name string, config core.Config) *realmPlayer {
	t.Helper()
	c, err := realm.Dial(t.Context(), d.Addr().String(), realm.Config{Config: config, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	p := &realmPlayer{Client: c, entities: map[uint16]core.Position{}, players: map[uint16]string{}, named: map[uint16]uint16{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev := range c.Events() {
			if ev.Kind == realm.EventMessage {
				p.take(ev.Message, name)
			}
		}
	}()
	t.Cleanup(func() {
		c.Close(context.Background())
		patient.Value(done)
	})
	return p
}

func (p *realmPlayer) login(t *testing.T, name, password string) core.LoginCode {
	t.Helper()
	code, err := p.Login(t.Context(), name, password)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func (p *realmPlayer) take(m *core.Message, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	note := func(e *core.Entity) {
		if e.Has&core.HasPosition != 0 {
			p.entities[e.ID] = e.Position
		}
	}
	switch m.Kind {
	case core.KindEntityCreate, core.KindEntityUpdate:
		note(&m.Entity)
	case core.KindEntitiesUpdate:
		for e := range m.Entities.All() {
			note(e)
		}
	case core.KindEntityDestroy:
		delete(p.entities, m.ID)
	case core.KindMetaAction:
		if core.MetaCode(m.Code) == core.MetaPlayerLeft {
			delete(p.players, m.ID)
			return
		}
		p.players[m.ID] = string(m.Name)
		if string(m.Name) == name {
			p.own = m.ID
		}
	case core.KindChatReceive:
		p.said = append(p.said, p.players[m.ID]+": "+string(m.Text))
	case core.KindActionsDone:
		p.done += m.Actions.Len()
	case core.KindEntityIDChange:
		p.named[m.Old] = m.New
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

func plainRealm(t *testing.T, h *Hub, accounts *Accounts) *Realm {
	t.Helper()
	d, err := NewRealm(h, RealmConfig{Addr: "127.0.0.1:0", Accounts: accounts, Server: realm.Config{Plain: true}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRealmPlayersShareTheWorld(t *testing.T) {
	h := newArena(t)
	d := plainRealm(t, h, nil)
	until := live(t, h)
	a, b := playRealm(t, h, d, "ann"), playRealm(t, h, d, "bob")
	for name, p := range map[string]*realmPlayer{"ann": a, "bob": b} {
		if code := p.login(t, name, ""); code != realm.LoginOK {
			t.Fatalf("%s: %v", name, code)
		}
	}
	until("each sees both", func() bool {
		for _, p := range []*realmPlayer{a, b} {
			if !p.is(func() bool { return p.own != 0 && len(p.entities) == 2 && len(p.players) == 2 && p.chunks > 0 }) {
				return false
			}
		}
		return true
	})
	place := func(p *realmPlayer, who uint16) (x float64) {
		p.is(func() bool {
			at := p.entities[who]
			x, _ = world.Place(at.BX, at.BY, at.X, at.Y)
			return true
		})
		return x
	}
	start := place(b, a.own)
	err := a.Update(core.Entity{ID: a.own, Has: core.HasSpeedAngle | core.HasSpeedNorm, SpeedAngle: 0, SpeedNorm: 1})
	if err != nil {
		t.Fatal(err)
	}
	until("b sees a walk", func() bool { return math.Abs(place(b, a.own)-start) > 2 })
	if err := a.Say("hello"); err != nil {
		t.Fatal(err)
	}
	until("b reads it", func() bool {
		return b.is(func() bool { return len(b.said) == 1 && b.said[0] == "ann: hello" })
	})
	temporary, _ := a.Temporary()
	throw, err := a.Codec().Action(0, core.F32(1), core.EntityID(temporary))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Act(throw); err != nil {
		t.Fatal(err)
	}
	until("b sees the throw, and a knows the ball", func() bool {
		return b.is(func() bool { return b.done == 1 }) && a.is(func() bool { return a.named[temporary] != 0 })
	})
	gone := a.own
	a.Close(t.Context())
	until("b sees it leave", func() bool {
		return b.is(func() bool { _, there := b.entities[gone]; return !there && len(b.players) == 1 })
	})
}

func TestRealmPlayersHaveAccounts(t *testing.T) {
	h := newArena(t)
	service := account.New(new(storetest.Memory), account.Config{})
	defer service.Close()
	d := plainRealm(t, h, NewAccounts(service))
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
	h, err := New(Config{Game: arena.Game(), Sight: -1, PerAddress: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := plainRealm(t, h, nil)
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

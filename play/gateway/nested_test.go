package gateway

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"

	"parley/internal/patient"
	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/duplex"
	"parley/protocol/realm"
	realmcore "parley/protocol/realm/core"
	"parley/protocol/relay"
	"parley/protocol/replica"
	"parley/protocol/stamp"
	"parley/world"
)

// crate is a kind with structs and an array in it. Its first attributes in realm have other types than a pawn's.
type crate struct {
	Lid   struct{ Open bool }
	Slots [2]struct {
		Item  uint8
		Count uint16
	}
	Label string `parley:"max=8"`
}

// stow fills the slots of the crate.
type stow struct {
	Into [2]struct {
		Slot  uint8
		Count uint16
	}
}

func crateGame() world.Game {
	g := pawnGame()
	step := g.Step
	g.Kinds, g.Actions = world.Kinds(pawn{}, crate{}), world.Actions(poke{}, stow{})
	g.Setup = func(w *world.World) { world.Spawn(w, crate{Label: "tea"}) }
	g.Step = func(w *world.World, inputs []world.Input) {
		step(w, inputs)
		for i := range inputs {
			do, ok := world.Read[stow](&inputs[i])
			if !ok {
				continue
			}
			for _, c := range world.All[crate](w) {
				for _, s := range do.Into {
					c.Slots[s.Slot&1].Count, c.Lid.Open = s.Count, true
				}
			}
			world.Done(w, &inputs[i], do)
		}
	}
	return g
}

// crates is what clients know of the crate, by dialect and field, and of who stowed what.
type crates struct {
	mu     sync.Mutex
	fields map[string]map[string]string
	done   map[string]string
}

func (c *crates) note(dialect, field, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fields[dialect] == nil {
		c.fields[dialect] = map[string]string{}
	}
	c.fields[dialect][field] = value
}

func (c *crates) all(dialect string, k *world.Kind, b []byte, o world.Order) {
	values := make([]world.Value, len(k.Fields))
	if rest, ok := message.ParseFields(values, k.Fields, b, o); !ok || len(rest) > 0 {
		c.note(dialect, "unread", fmt.Sprintf("%x", b))
		return
	}
	for i := range values {
		c.note(dialect, k.Fields[i].Name, values[i].String())
	}
}

func (c *crates) acted(dialect string, d message.Done, ok bool) {
	if !ok || d.Action.Name != "stow" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[dialect] = fmt.Sprint(d.Params[:len(d.Action.Fields)])
}

// Clients of each dialect see what is in the structs of an entity, are told of an action with an array of structs, and send one.
func TestStructsOverEveryDialect(t *testing.T) {
	h := must(New(Config{Game: crateGame(), World: world.Config{Seed: 7}, Sight: -1}))
	t.Cleanup(func() { h.Shutdown(context.Background()) })
	stamps, relays := must(NewStamp(h, StampConfig{Addr: loopback})), must(NewRelay(h, RelayConfig{Addr: loopback}))
	duplexes, replicas, realms := must(NewDuplex(h, DuplexConfig{Addr: loopback})), must(NewReplica(h, ReplicaConfig{Addr: loopback})), plainRealm(h, nil)
	until := live(t, h)
	s, known := h.Schema(), &crates{fields: map[string]map[string]string{}, done: map[string]string{}}
	k, a := s.Kinds[1], s.ActionNamed("stow")

	spectator := must(stamp.Dial(t.Context(), stamps.Addr().String(), stamp.Config{}))
	follow(t, spectator.Close, spectator.Events(), func(ev stamp.Event) {
		for rec := range message.Records(ev.Data, message.Little) {
			if rec.Kind == k.Number {
				known.all("stamp", k, rec.Fields, message.Little)
			}
		}
	})
	guest := must(relay.Dial(t.Context(), relays.Addr().String(), relay.Config{}))
	follow(t, guest.Close, guest.Events(), func(ev relay.Event) {
		if ev.Kind != relay.EventPackage || !ev.Package.Server || len(ev.Package.Payload) == 0 {
			return
		}
		switch rest := ev.Package.Payload[1:]; ev.Package.Payload[0] {
		case message.RelayEntities:
			for rec := range message.Records(rest, message.Big) {
				if rec.Kind == k.Number {
					known.all("relay", k, rec.Fields, message.Big)
				}
			}
		case message.RelayDone:
			d, ok := message.ParseRelayDone(s, rest)
			known.acted("relay", d, ok)
		}
	})
	both := must(duplex.Dial(t.Context(), duplexes.Addr().String(), duplex.Config{Schema: schema.Duplex(s)}))
	follow(t, both.Close, both.Events(), func(ev duplex.Event) {
		switch {
		case ev.Kind != duplex.EventSync && ev.Kind != duplex.EventUpdate:
		case ev.SID == message.DuplexDone:
			d, ok := message.ParseDuplexDone(s, ev.Data)
			known.acted("duplex", d, ok)
		case ev.SID > 0:
			if kind, fields, ok := message.ParseElement(ev.Data); ok && kind == k.Number {
				known.all("duplex", k, fields, message.Big)
			}
		}
	})
	linked := must(replica.Dial(t.Context(), replicas.Addr().String(), replica.Config{}))
	follow(t, linked.Close, linked.Events(), func(ev replica.Event) {
		if ev.Kind == replica.EventMessage && string(ev.Name) == a.Name {
			d, ok := message.ParseReplicaDone(a, ev.Data)
			known.acted("replica", d, ok)
		}
	})
	if err := linked.Link(); err != nil {
		t.Fatal(err)
	}
	known.realm(t, h, realms, k, a)

	until("all are in", func() bool { return h.Stats().Players == 4 })
	if err := guest.Send(relay.SemiOrdered, relay.ToServer, message.AppendAct([]byte{message.RelayAct}, a, []world.Value{
		world.UintValue(world.U8, 1), world.UintValue(world.U16, 301), world.UintValue(world.U8, 0), world.UintValue(world.U16, 300),
	}, message.Big)); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"lid.open": "true", "slots[0].item": "0", "slots[0].count": "300", "slots[1].item": "0", "slots[1].count": "301", "label": `"tea"`}
	for _, dialect := range []string{"stamp", "relay", "duplex", "replica", "realm"} {
		patient.Until(t, dialect+" sees the crate", func() bool {
			if dialect == "replica" {
				known.linked(linked, k)
			}
			known.mu.Lock()
			defer known.mu.Unlock()
			return maps.Equal(known.fields[dialect], want) && (dialect == "stamp" || known.done[dialect] == "[1 301 0 300]")
		})
		if t.Failed() {
			t.Fatalf("%v, %v", known.fields, known.done)
		}
	}
}

// realm logs in and notes the attributes of the crate: those that are pairs with another type in a pawn come with the entity's type.
func (c *crates) realm(t *testing.T, h *Hub, d *Realm, k *world.Kind, a *world.Action) {
	p := must(realm.Dial(t.Context(), d.Addr().String(), realm.Config{Config: realmcore.Config{Schema: schema.Realm(h.Schema(), 0), TickRate: h.cfg.TickRate}, Plain: true}))
	ids := map[uint16]bool{}
	block := func(e *realmcore.Entity) {
		if e.Has&realmcore.HasType != 0 {
			ids[e.ID] = e.Type == uint16(k.Number)
		}
		if !ids[e.ID] {
			return
		}
		for id, v := range e.Attributes.All() {
			for i := range k.Fields {
				if f := &k.Fields[i]; f.Attr == id {
					value, _ := schema.FromRealm(f, v)
					c.note("realm", f.Name, value.String())
				}
			}
		}
	}
	follow(t, p.Close, p.Events(), func(ev realm.Event) {
		if ev.Kind != realm.EventMessage {
			return
		}
		switch m := ev.Message; m.Kind {
		case realmcore.KindEntityCreate:
			block(&m.Entity)
		case realmcore.KindEntitiesUpdate:
			for e := range m.Entities.All() {
				block(e)
			}
		case realmcore.KindActionsDone:
			for done := range m.Actions.All() {
				if int(done.Action.ID) == a.Number {
					params, ok := paramsOf(a, done.Action.Params)
					c.acted("realm", message.Done{Action: a, Params: params}, ok)
				}
			}
		}
	})
	patient.Until(t, "it is let in", func() bool {
		code, err := p.Login(t.Context(), "ann", "")
		return err == nil && code == realm.LoginOK // a game that is behind the clock lets nobody in
	})
}

// linked notes what a client of replica knows, by the names of the variables.
func (c *crates) linked(p *replica.Client, k *world.Kind) {
	p.Do(func(values *replica.Values) {
		link, ok := values.KindLink(k.Name)
		if !ok {
			return
		}
		for id := range values.Entities(link) {
			for i := range k.Fields {
				f := &k.Fields[i]
				got, ok := values.EntityValue(link, id, f.Name)
				if !ok {
					continue
				}
				value, _ := message.ParseVariable(k, i, got.Data)
				if f.Type == world.Text {
					value = world.TextValue(string(got.Data))
				}
				c.note("replica", f.Name, value.String())
			}
		}
	})
}

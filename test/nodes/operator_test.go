package nodes

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"parley"
	"parley/client"
	"parley/cluster/clustertest"
	"parley/internal/patient"
)

// ended has a player look until it is out of the game, and returns what it was told.
func (p *player) ended() (text string) {
	patient.Until(p.t, p.name+" is out of the game", func() bool {
		for ev := range p.At(time.Now()).Events() {
			if ev.Kind == client.Ended {
				text = ev.Text
			}
		}
		return text != ""
	})
	return text
}

// An operator at one server sees the players of all, kicks them and speaks to them, also in rooms that do not run there.
func TestAnOperatorAtAnyServer(t *testing.T) {
	url := clustertest.NATS(t)
	a, b := serve(t, url), serve(t, url)
	if err := a.Open(parley.Room{Name: "duel", Idle: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	ann := join(t, "ann", a.url("replica"))
	bob := joinAs(t, "bob", a.url("relay"), client.Config{Name: "bob", Room: "duel"})
	eve := join(t, "eve", b.url("duplex"))
	for _, s := range []*aServer{a, b} {
		list, err := s.Players()
		if err != nil || len(list) != 3 {
			t.Fatalf("%+v, %v", list, err)
		}
		nodes := map[string]string{}
		for _, p := range list {
			if nodes[p.Name] = p.Node; p.Away || p.Dialect == "" || !p.Addr.IsValid() {
				t.Errorf("a player is told as %+v", p)
			}
		}
		if nodes["ann"] == "" || nodes["ann"] != nodes["bob"] || nodes["ann"] == nodes["eve"] || nodes["eve"] == "" {
			t.Errorf("they are at %v", nodes)
		}
	}
	if err := b.Broadcast("", "all hear this"); err != nil {
		t.Fatal(err)
	}
	if err := b.Broadcast("duel", "only bob"); err != nil {
		t.Fatal(err)
	}
	if err := b.Broadcast("nowhere", "nobody"); !errors.Is(err, parley.ErrNoRoom) {
		t.Errorf("a room that is not there: %v", err)
	}
	for _, p := range []*player{ann, bob, eve} {
		patient.Until(t, p.name+" has read it", func() bool {
			p.look()
			return p.said["server: all hear this"] == 1 && (p.said["server: only bob"] == 1) == (p == bob)
		})
	}
	if b.WorldStats().Rooms != 1 {
		t.Error("to speak in a room has it run")
	}
	list, _ := b.Players()
	for _, p := range list {
		if p.Name != "eve" {
			if err := b.Kick(p.Room, p.ID, "so long"); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
	if err := b.Kick("duel", 99, ""); !errors.Is(err, parley.ErrNoPlayer) {
		t.Errorf("nobody is kicked: %v", err)
	}
	for _, p := range []*player{ann, bob} {
		if text := p.ended(); !strings.Contains(text, "so long") {
			t.Errorf("%s was told %q", p.name, text)
		}
	}
	a.node.Close() // as one that does not answer any more
	if list, err := b.Players(); err != nil && !errors.Is(err, parley.ErrSilent) || len(list) == 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// A ban holds at all servers within a second: players are told, nobody comes in, also at a server that starts later, and it is lifted everywhere.
func TestABanHoldsEverywhere(t *testing.T) {
	url := clustertest.NATS(t)
	a, b := serve(t, url), serve(t, url)
	eve := join(t, "eve", b.url("replica"))
	prefix := netip.MustParsePrefix("127.0.0.0/8")
	pace := patient.Pace(t)
	if err := a.Ban(parley.Ban{Prefix: prefix, Reason: "cheats"}); err != nil {
		t.Fatal(err)
	}
	if text := eve.ended(); !strings.Contains(text, "banned: cheats") {
		t.Errorf("she was told %q", text)
	}
	if took := pace(); took > time.Second {
		t.Errorf("she was out %v after the ban", took)
	}
	late := serve(t, url)
	for _, s := range []*aServer{a, b, late} {
		if list, err := s.Bans(); err != nil || len(list) != 1 || list[0].Prefix != prefix || list[0].Reason != "cheats" || !s.Banned(netip.MustParseAddr("127.0.0.1")) {
			t.Errorf("the bans are %+v, %v", list, err)
		}
	}
	if err := late.Unban(parley.Ban{Prefix: prefix}); err != nil {
		t.Fatal(err)
	}
	patient.Until(t, "it is lifted", func() bool {
		return !a.Banned(netip.MustParseAddr("127.0.0.1")) && !b.Banned(netip.MustParseAddr("127.0.0.1"))
	})
	join(t, "eve", b.url("replica"))
}

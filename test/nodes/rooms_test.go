package nodes

import (
	"errors"
	"strings"
	"testing"
	"time"

	"parley"
	"parley/client"
	"parley/cluster/clustertest"
	"parley/internal/patient"
)

// A room that is opened at one server is entered at any, over any dialect, is one world there, and is closed at any.
func TestARoomOfTheCluster(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a, b := serve(t, url), serve(t, url)
	if err := a.Open(parley.Room{Name: "duel", Mode: "fast", Idle: -1}); err != nil {
		t.Fatal(err)
	}
	if err := b.Open(parley.Room{Name: "duel"}); !errors.Is(err, parley.ErrRoomThere) {
		t.Errorf("the other server opens it again: %v", err)
	}
	for _, dialect := range []string{"replica", "relay", "duplex"} {
		t.Run(dialect, func(t *testing.T) {
			ann := joinAs(t, "ann", a.url(dialect), client.Config{Name: "ann", Room: "duel"})
			bob := joinAs(t, "bob", b.url(dialect), client.Config{Name: "bob", Room: "duel"})
			for _, p := range []*player{ann, bob} {
				patient.Until(t, "both see each other", func() bool { others, _, ok := p.look(); return ok && others == 1 })
			}
			ann.Say("en garde")
			patient.Until(t, "bob has read it", func() bool { bob.look(); return bob.said["ann: en garde"] == 1 })
			for _, s := range []*aServer{a, b} {
				if r := roomOf(t, s, "duel"); r.Mode != "fast" || r.Players != 2 || r.Node == "" {
					t.Errorf("the room is %+v", r)
				}
			}
			ann.Close()
			bob.Close()
			patient.Until(t, "all have left", func() bool { return roomOf(t, a, "duel").Players == 0 })
		})
	}
	ann := joinAs(t, "ann", b.url("replica"), client.Config{Name: "ann", Room: "duel"})
	if err := a.CloseRoom("duel"); err != nil {
		t.Fatal(err)
	}
	ended := ""
	patient.Until(t, "her room is closed", func() bool {
		for ev := range ann.At(time.Now()).Events() {
			if ev.Kind == client.Ended {
				ended = ev.Text
			}
		}
		return ended != ""
	})
	if !strings.Contains(ended, "the room was closed") {
		t.Errorf("she was told %q", ended)
	}
	for _, s := range []*aServer{a, b} {
		patient.Until(t, "no server has it", func() bool { list, err := s.Rooms(); return err == nil && len(list) == 1 })
		if err := s.CloseRoom("duel"); !errors.Is(err, parley.ErrNoRoom) {
			t.Errorf("closed again: %v", err)
		}
		if err := s.CloseRoom(parley.MainRoom); !errors.Is(err, parley.ErrMainRoom) {
			t.Errorf("main: %v", err)
		}
	}
	if err := b.Open(parley.Room{Name: "duel", Mode: "slow"}); err != nil {
		t.Fatal(err)
	}
	joinAs(t, "eve", a.url("duplex"), client.Config{Name: "eve", Room: "duel"})
	if r := roomOf(t, a, "duel"); r.Mode != "slow" || r.Players != 1 {
		t.Errorf("the new room is %+v", r)
	}
}

// roomOf returns a room as a server lists it.
func roomOf(t *testing.T, s *aServer, name string) (room parley.RoomState) {
	t.Helper()
	list, err := s.Rooms()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.Name == name {
			room = r
		}
	}
	return room
}

// Strangers do not have rooms run that are not there, or that they may not enter, and are told so in the words of the page.
func TestARoomThatIsNotThere(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a, b := serve(t, url), serve(t, url)
	if err := a.Open(parley.Room{Name: "closed", Closed: true}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ room, want string }{{"nowhere", "no such room"}, {"closed", "room needs a ticket"}} {
		for _, dialect := range []string{"replica", "relay", "duplex"} {
			c, err := dial(t, b.url(dialect), client.Config{Name: "eve", Room: tt.room})
			if err == nil {
				c.Close()
			}
			if dialect == "duplex" { // it has numbers for words
				tt.want = ""
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s over %s: %v, want %q", tt.room, dialect, err, tt.want)
			}
		}
	}
	if st := b.Stats(); st.World.Rooms != 1 {
		t.Errorf("%d rooms run", st.World.Rooms)
	}
}

// A server whose players have left a room runs it no more, and those at another play on, also if it made the entries. A room that all have left ends
// everywhere.
func TestARoomIsLeft(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a, b := serve(t, url), serve(t, url)
	if err := a.Open(parley.Room{Name: "duel", Idle: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	bob := joinAs(t, "bob", b.url("replica"), client.Config{Name: "bob", Room: "duel"})
	ann := joinAs(t, "ann", a.url("replica"), client.Config{Name: "ann", Room: "duel"})
	for _, p := range []*player{ann, bob} {
		patient.Until(t, "both see each other", func() bool { others, _, ok := p.look(); return ok && others == 1 })
	}
	bob.Close()
	patient.Until(t, "his server does not run it", func() bool { ann.look(); return b.WorldStats().Rooms == 1 })
	ann.Say("still here")
	patient.Until(t, "she plays on", func() bool { ann.look(); return ann.said["ann: still here"] == 1 })
	if r := roomOf(t, b, "duel"); r.Players != 1 || r.Name == "" {
		t.Errorf("the other server lists %+v", r)
	}
	ann.Close()
	patient.Until(t, "it has ended", func() bool {
		inA, _ := a.Rooms()
		inB, _ := b.Rooms()
		return len(inA) == 1 && len(inB) == 1
	})
	if _, err := dial(t, b.url("replica"), client.Config{Name: "bob", Room: "duel"}); err == nil || !strings.Contains(err.Error(), "no such room") {
		t.Errorf("a room that ended: %v", err)
	}
}

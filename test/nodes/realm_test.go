package nodes

import (
	"strings"
	"testing"
	"time"

	"parley"
	"parley/account"
	"parley/account/storetest"
	"parley/client"
	"parley/cluster/clustertest"
	"parley/internal/patient"
)

// withRealm has servers share a store of accounts, as they share a PostgreSQL.
func withRealm(store account.Store) func(*parley.Config) {
	return func(c *parley.Config) {
		c.Realm, c.RealmTime, c.Registrations = "127.0.0.1:0", "127.0.0.1:0", -1
		c.Accounts = func(string) (account.Store, error) { return store, nil }
	}
}

// login is the address at which an account plays over realm.
func (s *aServer) login(account string) string {
	return strings.Replace(s.url("realm"), "://", "://"+account+":correct-horse@", 1)
}

// An account plays over realm at one server with players at the other, and comes back there as who it was when its server ends. Its name is no guest's at
// either, and who logs in with it at the other server while it plays takes its place: it is in the room once.
func TestRealmOnTwoServers(t *testing.T) {
	t.Parallel()
	url, store := clustertest.NATS(t), new(storetest.Memory)
	a, b := serve(t, url, withRealm(store)), serve(t, url, withRealm(store))
	ann, bob := join(t, "ann", a.login("ann")+","+b.login("ann")), join(t, "bob", b.url("relay"))
	both := []*player{ann, bob}
	for _, p := range both {
		patient.Until(t, p.name+" sees the other", func() bool { others, _, ok := p.look(); return ok && others == 1 })
	}
	was := idOf(t, b, "ann")
	ann.Say("before")
	patient.Until(t, "bob has read it", func() bool { look(both); return bob.said["ann: before"] == 1 })
	if guest := join(t, "ann", b.url("replica")); guest.named(b) == "ann" {
		t.Error("a guest has the name of the account")
	} else {
		guest.Close()
	}

	a.end()
	patient.Until(t, "ann is back", func() bool {
		back := false
		for ev := range ann.At(time.Now()).Events() {
			back = back || ev.Kind == client.Back
		}
		bob.look()
		return back
	})
	if is := idOf(t, b, "ann"); is != was {
		t.Errorf("ann was player %d and is %d", was, is)
	}
	ann.Say("after")
	patient.Until(t, "bob has read it", func() bool { look(both); return bob.said["ann: after"] > 0 })
	if bob.said["ann: before"] != 1 || bob.said["ann: after"] != 1 {
		t.Errorf("bob has read %v", bob.said)
	}

	c := serve(t, url, withRealm(store))
	second := join(t, "ann", c.login("ann"))
	patient.Until(t, "the second is in", func() bool { _, _, ok := second.look(); return ok })
	if is := idOf(t, c, "ann"); is != was {
		t.Errorf("ann was player %d, and the second connection has %d", was, is)
	}
	patient.Until(t, "the first is out", func() bool { return ann.out() })
}

// named returns under which name a server has the player who came last.
func (p *player) named(s *aServer) (name string) {
	patient.Until(p.t, "it is listed", func() bool {
		p.look()
		list, err := s.Players()
		if err != nil {
			p.t.Fatal(err)
		}
		last := 0
		for _, x := range list {
			if x.Dialect == p.dialect() && int(x.ID) > last {
				name, last = x.Name, int(x.ID)
			}
		}
		return name != ""
	})
	return name
}

func (p *player) dialect() string { d, _, _ := strings.Cut(p.URL(), "://"); return d }

// out reports whether the player's connection has ended for good, or waits to come back.
func (p *player) out() (out bool) {
	for ev := range p.At(time.Now()).Events() {
		out = out || ev.Own && ev.Kind == client.Away || ev.Kind == client.Ended
	}
	return out
}

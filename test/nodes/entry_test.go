package nodes

import (
	"strings"
	"sync"
	"testing"
	"time"

	"parley"
	"parley/client"
	"parley/cluster/clustertest"
	"parley/internal/patient"
)

var key = []byte("the key of the tickets of these tests")

func withTickets(c *parley.Config) { c.TicketKey = key }

func ticketFor(t *testing.T, s *aServer, room, name string) []byte {
	t.Helper()
	ticket, err := s.Ticket(room, name, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// A ticket lets one player in, over all servers and dialects: of many who show it at the same moment too. When its player has left for good, it is used
// up at each server, also after the server that let it in has ended.
func TestATicketLetsInOnce(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a, b, c := serve(t, url, withTickets), serve(t, url, withTickets), serve(t, url, withTickets)
	if err := a.Open(parley.Room{Name: "duel", Idle: -1}); err != nil {
		t.Fatal(err)
	}
	servers := []*aServer{a, b, c}
	ticket := ticketFor(t, a, "duel", "ann")
	var wg sync.WaitGroup
	clients, errs := make([]*client.Client, 6), make([]error, 6)
	for i := range clients {
		wg.Go(func() {
			clients[i], errs[i] = dial(t, servers[i%3].url([]string{"replica", "relay"}[i/3]), client.Config{Ticket: ticket})
		})
	}
	patient.Done(wg.Wait)
	in := 0
	for i, c := range clients {
		if c != nil {
			in++
			defer c.Close()
		} else if text := errs[i].Error(); !strings.Contains(text, "ticket was used") && !strings.Contains(text, "resumed elsewhere") {
			t.Errorf("it is refused as %q", errs[i])
		}
	}
	if in == 0 { // one who shows it while its first token is not acknowledged is that player
		t.Fatal("nobody is in")
	}
	for _, s := range servers[:2] {
		patient.Until(t, "one player is there", func() bool { return roomOf(t, s, "duel").Players == 1 })
	}
	for _, c := range clients {
		if c != nil {
			c.Close()
		}
	}
	patient.Until(t, "she has left", func() bool { return roomOf(t, a, "duel").Players == 0 })
	for _, s := range servers {
		if _, err := dial(t, s.url("replica"), client.Config{Ticket: ticket}); err == nil || !strings.Contains(err.Error(), "ticket was used") {
			t.Errorf("later: %v", err)
		}
	}
	a.end()
	if _, err := dial(t, b.url("relay"), client.Config{Ticket: ticket}); err == nil || !strings.Contains(err.Error(), "ticket was used") {
		t.Errorf("after a server has ended: %v", err)
	}
	if err := b.CloseRoom("duel"); err != nil {
		t.Fatal(err)
	}
	if err := c.Open(parley.Room{Name: "duel"}); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, b.url("replica"), client.Config{Ticket: ticket}); err == nil || !strings.Contains(err.Error(), "ticket was used") {
		t.Errorf("for another room of that name: %v", err)
	}
}

// A session is found at a server where its room does not run, and the player is who it was.
func TestASessionAtAnotherServer(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a, b := serve(t, url), serve(t, url)
	if err := a.Open(parley.Room{Name: "duel", Idle: -1}); err != nil {
		t.Fatal(err)
	}
	for _, dialect := range []string{"replica", "relay", "duplex"} {
		t.Run(dialect, func(t *testing.T) {
			joinAs(t, "bob", a.url("relay"), client.Config{Name: "bob-" + dialect, Room: "duel"})
			c, err := dial(t, a.url(dialect), client.Config{Name: "ann-" + dialect, Room: "duel"})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var token [16]byte
			patient.Until(t, "her client has its token", func() bool {
				var hold time.Duration
				token, hold = c.Session()
				return hold > 0
			})
			patient.Until(t, "and has said so", func() bool {
				list, err := a.Players()
				for _, p := range list {
					if p.Name == "ann-"+dialect {
						return p.Returns
					}
				}
				return err != nil
			})
			was := idOf(t, a, "ann-"+dialect)
			again, err := dial(t, b.url(dialect), client.Config{Session: token})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if is := idOf(t, b, "ann-"+dialect); is != was {
				t.Errorf("she was %d and is %d", was, is)
			}
		})
	}
	if _, err := dial(t, b.url("replica"), client.Config{Session: [16]byte{1}}); err == nil || !strings.Contains(err.Error(), "no such session") {
		t.Errorf("a token that nobody has: %v", err)
	}
}

package gateway

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A ticket of the server's own key leads to the room of its match and to no other, and is no good to another server. With a key of the
// operator's, that key signs.
func TestWhereTicketsOfMatchesLead(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config Config
		room   Settings
		to     string
		want   error
	}{
		{"its room", Config{}, Settings{Name: "match-1", Closed: true, Match: true}, "match-1", nil},
		{"main, which is open", Config{}, Settings{Name: "match-1", Match: true}, "main", RefusedRoom},
		{"no room, which is main", Config{}, Settings{Name: "match-1", Match: true}, "", RefusedRoom},
		{"a closed room of the operator's", Config{}, Settings{Name: "match-1", Closed: true}, "match-1", RefusedRoom},
		{"an open room of the operator's", Config{}, Settings{Name: "match-1"}, "match-1", RefusedRoom},
		{"a room that is not there", Config{}, Settings{Name: "match-2", Match: true}, "match-1", RefusedRoom},
		{"its room, by the operator's key", Config{TicketKey: testKey}, Settings{Name: "match-1", Closed: true, Match: true}, "match-1", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, d := newDesk(t, tt.config)
			must(h.Open(tt.room))
			ticket := must(h.gate.MatchTicket(tt.to, "ann", time.Minute))
			if _, err := d.show(h, ticket); err != tt.want {
				t.Errorf("it is told %v, want %v", err, tt.want)
			}
			other, otherDesk := newDesk(t, Config{})
			must(other.Open(tt.room))
			if _, err := otherDesk.show(other, ticket); err != RefusedTicket {
				t.Errorf("another server says %v", err)
			}
		})
	}
}

func TestTicketsThatCannotBeMade(t *testing.T) {
	g := must(newGatekeeper(nil, "", slog.New(slog.DiscardHandler)))
	if _, err := g.Ticket("main", "ann", time.Minute); !errors.Is(err, ErrNoTicketKey) {
		t.Errorf("without a key: %v", err)
	}
	g = must(newGatekeeper(testKey, "", slog.New(slog.DiscardHandler)))
	for _, tt := range []struct {
		room, name string
		valid      time.Duration
		want       string
	}{
		{"Main", "ann", time.Minute, `a room named "Main"`},
		{"main", "ann", time.Millisecond, "at least 1s"},
		{"main", "ann", -time.Minute, "at least 1s"},
		{"main", "ann", maxTicketTime + 1, "at most 720h0m0s"},
		{"main", strings.Repeat("x", maxName+1), time.Minute, "a name of 65 bytes"},
		{"main", "ann ", time.Minute, "would be shown as another"},
		{"main", "\xff", time.Minute, "would be shown as another"},
		{"main", "S\u00e9rver", time.Minute, "the name of the server itself"},
	} {
		if _, err := g.Ticket(tt.room, tt.name, tt.valid); !errors.Is(err, ErrTicket) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q, %q, %v: %v", tt.room, tt.name, tt.valid, err)
		}
	}
	if _, err := g.Ticket("", "", time.Minute); err != nil {
		t.Error(err)
	}
}

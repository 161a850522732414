package program

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/patient"
	"parley/play/bots"
)

// Bots of all dialects play at --play of a server as operators start it, over WebSocket and over WebTransport: they enter, see the world go
// on and hear lines. The list of players says who plays over what.
func TestBotsOverCarriersOfARealServer(t *testing.T) {
	t.Parallel() // it waits for most of its time
	any, data := "127.0.0.1:0", filepath.Join(t.TempDir(), "data")
	s := serves(t, "--replica", any, "--stamp", any, "--relay", any, "--duplex", any, "--web", any, "--registrations", "-1", "--data", data)
	text, err := json.Marshal(s.addrs)
	ready := filepath.Join(t.TempDir(), "ready.json")
	if err == nil {
		err = os.WriteFile(ready, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, carrier := range []string{"ws", "wt"} {
		done := make(chan result, 1)
		go func() {
			done <- botsInTime("--json -n 5 --seed 7 --name " + carrier + " --carrier " + carrier + " --ready-file " + ready)
		}()
		patient.Until(t, "all are in the list of players, and how they play", func() bool {
			list := parley("", "players --server http://"+s.addrs["web"]+" --token-file "+filepath.Join(data, "operator.token")).out
			for _, dialect := range []string{"replica", "relay", "duplex", "realm"} { // those of stamp watch
				if !strings.Contains(list, dialect+"/"+carrier) {
					return false
				}
			}
			return true
		})
		wantBots(t, carrier, patient.Value(done))
		// A bot speaks when it has done other things for five seconds, so players speak here.
		for _, dialect := range []string{"replica", "relay", "duplex", "realm"} {
			wantHeard(t, s.addrs["play"], dialect, carrier)
		}
	}
}

// wantBots wants that a bot of each dialect played.
func wantBots(t *testing.T, carrier string, got result) {
	t.Helper()
	var list []bots.Result
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list) != 5 || got.status != exitOK {
		t.Fatalf("%s: status %d, %v: %s%s", carrier, got.status, err, got.out, got.err)
	}
	for _, r := range list {
		if r.Connected != 1 || r.Errors != 0 || r.Updates == 0 {
			t.Errorf("%s: %+v", carrier, r)
		}
		if r.Dialect != "stamp" && r.Steered > 0 && r.Seen == 0 {
			t.Errorf("%s: %s saw none of the %d steps that it asked for", carrier, r.Dialect, r.Steered)
		}
	}
}

// wantHeard wants that a player hears what it says.
func wantHeard(t *testing.T, addr, dialect, carrier string) {
	t.Helper()
	schema, err := arena.Game().Schema()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	heard := make(chan struct{}, 1)
	c := bots.Config{
		Schema: schema, Game: "arena", Name: "ada" + carrier, Password: "correct horse", New: true, Carrier: carrier, Trust: func(string, string) error { return nil },
		Notice: func(n bots.Notice) {
			if n.Kind == bots.Said && n.Text == "hello" {
				select {
				case heard <- struct{}{}:
				default:
				}
			}
		},
	}
	p, err := bots.Join(ctx, dialect, addr, c)
	if err != nil {
		t.Errorf("%s+%s: %v", dialect, carrier, err)
		return
	}
	defer p.Close(ctx)
	patient.Until(t, "it is in the room: replica drops a line that is said before", func() (is bool) {
		p.See(func(v *bots.Sight) { is = v.You != 0 })
		return is
	})
	if err := p.Say(ctx, "hello"); err != nil {
		t.Errorf("%s+%s: %v", dialect, carrier, err)
		return
	}
	select {
	case <-heard:
	case <-ctx.Done():
		t.Errorf("%s+%s: what was said is not heard", dialect, carrier)
	}
}

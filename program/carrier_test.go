package program

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/play/bots"
	stage "parley/test/field"
)

// bridgedArena serves the arena with a bridge as its --play, and returns the bridge and a ready file that names it.
func bridgedArena(t *testing.T) (b *stage.Bridge, ready string) {
	t.Helper()
	_, _, from := serveArena(t)
	text, err := os.ReadFile(from)
	list := map[string]string{}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	b = stage.NewBridge(t, list, false)
	list["play"] = b.Addr
	text, err = json.Marshal(list)
	ready = filepath.Join(t.TempDir(), "ready.json")
	if err == nil {
		err = os.WriteFile(ready, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b, ready
}

// Bots of all dialects play over WebSocket and WebTransport.
func TestBotsOverCarriers(t *testing.T) {
	t.Parallel() // it waits for most of its time
	_, ready := bridgedArena(t)
	for _, carrier := range []string{"ws", "wt"} {
		got := botsInTime("--json -n 5 --seed 7 --carrier " + carrier + " --ready-file " + ready)
		var list []bots.Result
		if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list) != 5 || got.status != exitOK {
			t.Fatalf("%s: status %d, %v: %s%s", carrier, got.status, err, got.out, got.err)
		}
		for _, r := range list {
			if r.Connected != 1 || r.Errors != 0 || r.Updates == 0 {
				t.Errorf("%s: %+v", carrier, r)
			}
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"bots --carrier pigeon", "write udp, ws, wss or wt"},
		{"join replica+pigeon", "ws, wss or wt"},
		{"join replica+", "ws, wss or wt"},
		{"join morse+ws", "no dialect"},
		{"join replica+ws --match duel --name ann", "leave out +ws"},
	} {
		if got := parley("", tt.args); got.status != exitUsage || !strings.Contains(got.err, tt.want) {
			t.Errorf("%s: status %d: %s", tt.args, got.status, got.err)
		}
	}
}

// A player joins over a carrier from the terminal.
func TestJoinOverCarriers(t *testing.T) {
	t.Parallel() // it waits for most of its time
	b, _ := bridgedArena(t)
	for _, carrier := range []string{"ws", "wt"} {
		got := parley("say hello\nquit\n", "join replica+"+carrier+" "+b.Addr+" --name ann")
		if got.status != exitOK || !strings.Contains(got.out, "joined replica at "+b.Addr) {
			t.Errorf("%s: status %d: %s%s", carrier, got.status, got.out, got.err)
		}
	}
}

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/player"
)

func TestBotsReportInJSON(t *testing.T) {
	_, _, ready := serveArena(t)
	got := parley("", "bots --json --realm-plain --for 3s -n 5 --ready-file "+ready)
	var list []player.Result
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list) != 5 {
		t.Fatalf("status %d, %v: %s%s", got.status, err, got.out, got.err)
	}
	for _, r := range list {
		if r.Bots != 1 || r.Connected != 1 || r.Errors != 0 || r.Updates == 0 {
			t.Errorf("%+v", r)
		}
	}
	if got.status != exitOK || got.err != "" {
		t.Errorf("status %d: %s", got.status, got.err)
	}
}

func TestBotsReportInATable(t *testing.T) {
	_, _, ready := serveArena(t)
	got := parley("", "bots --for 1s --mix relay=2 --ready-file "+ready)
	if got.status != exitOK || !strings.Contains(got.out, "p99") || !strings.Contains(got.out, "relay") || strings.Contains(got.out, "stamp") {
		t.Errorf("status %d: %s%s", got.status, got.out, got.err)
	}
}

func TestWhatBotsRefuse(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ line, want string }{
		{"bots -n 0", "-n is at least 1"},
		{"bots --mix replica", "write dialect=count"},
		{"bots --mix morse=3", "write dialect=count"},
		{"bots --mix replica=-1", "write dialect=count"},
		{"bots --ready-file " + filepath.Join(dir, "none"), "start the server with the same flag first"},
		{"bots --ready-file " + bad, "is not what parley serve writes"},
		{"bots now", "takes no arguments"},
	} {
		got := parley("", tt.line)
		if got.status != exitUsage || !strings.Contains(got.err, tt.want) {
			t.Errorf("%s: status %d, %q", tt.line, got.status, got.err)
		}
	}
}

func TestSharesOfBots(t *testing.T) {
	f := botsFlags{count: 12}
	got, err := f.shares()
	if err != nil || got["replica"] != 3 || got["stamp"] != 3 || got["realm"] != 2 {
		t.Errorf("%v, %v", got, err)
	}
	f.mix = "replica=2, duplex=3,replica=1"
	if got, err = f.shares(); err != nil || got["replica"] != 3 || got["duplex"] != 3 || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	for addr, want := range map[string]string{"0.0.0.0:1": "127.0.0.1:1", "[::]:2": "127.0.0.1:2", "192.0.2.1:3": "192.0.2.1:3", "host:4": "host:4"} {
		if got := reachable(addr); got != want {
			t.Errorf("%s is reached at %s, want %s", addr, got, want)
		}
	}
}

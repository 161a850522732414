package program

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/play/schema"
)

// The schema is that of the game that serve runs, for people and for programs.
func TestSchema(t *testing.T) {
	text := parley("", "schema")
	for _, want := range []string{"arena, fingerprint ", "kind 1: player. realm type 1", "  cooldown_one  u16   u16         7        30000  countdown\n", "action 0: throw\n"} {
		if text.status != 0 || !strings.Contains(text.out, want) {
			t.Errorf("status %d: %q is not in\n%s%s", text.status, want, text.out, text.err)
		}
	}
	var d schema.Description
	if got := parley("", "schema --json"); got.status != 0 || strings.Count(got.out, "\n") != 1 || json.Unmarshal([]byte(got.out), &d) != nil || d.Text() != text.out {
		t.Errorf("status %d: %s%s", got.status, got.out, got.err)
	}
	if got := parley("", "schema --realm-profile miko"); got.status != 0 || !strings.Contains(got.out, "kind 1: player. realm type 0") {
		t.Errorf("status %d: %s%s", got.status, got.out, got.err)
	}
	for line, want := range map[string]string{"schema --realm-profile x": `--realm-profile must be plain or miko, not "x"`, "schema x": "takes no arguments"} {
		if got := parley("", line); got.status != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%s: status %d: %s", line, got.status, got.err)
		}
	}
}

package blackbox

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"parley/internal/promise"
)

// T62: no password, ticket, key, token or argument of the program stands in its log, at any level, or in its pages. (How many lines are
// looked at: test/attack, as a program writes at most ten of a kind in a second.)
func TestThePagesAndTheLogTellNoSecret(t *testing.T) {
	dir := t.TempDir()
	s, key := ticketServer(t, dir, "--log-level", "debug")
	text, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{"the path of the key": key, "an argument": "--ticket-key-file", "the key": strings.TrimSpace(string(text))}
	for _, dialect := range ticketDialects {
		ticket := mustEnter(t, s, dialect, key)
		secrets["the ticket for "+dialect] = ticket
		enters(t, s, dialect, ticket)             // it is used
		enters(t, s, dialect, ticket[:40]+"0000") // and this is none
	}
	c := entered(t, s, newRealm, (*realmClient).join) // who has the password "correct horse"
	secrets["a password"] = "correct horse"
	const guess = "incorrect mule"
	secrets["a wrong password"] = guess
	wrong := entered(t, s, newRealm, func(wrong *realmClient, _ string) error {
		if err := wrong.send(uint8(18), uint16(9), uint8(3), uint16(len(c.name)), c.name, uint16(len(guess)), guess); err != nil {
			return err
		}
		return until(wrong, "the answer to a wrong password", func() bool { return wrong.login >= 0 })
	})
	if wrong.login == 0 {
		t.Fatal("a wrong password is taken")
	}
	pages := ""
	for _, page := range []string{"/", "/metrics", "/healthz", "/readyz"} {
		_, body := get(t, "http://"+s.addrs["web"]+page)
		pages += body
	}
	s.stop(t)
	log := s.stderr.String()
	for what, secret := range secrets {
		forms := []string{secret, strings.ToUpper(secret), hex.EncodeToString([]byte(secret)), base64.RawStdEncoding.EncodeToString([]byte(secret))}
		if raw, err := hex.DecodeString(secret); err == nil {
			forms = append(forms, base64.RawStdEncoding.EncodeToString(raw), strings.Trim(fmt.Sprint(raw), "[]"))
		}
		for _, form := range forms {
			if strings.Contains(log, form) {
				t.Errorf("%s stands in the log", what)
			}
			if strings.Contains(pages, form) {
				t.Errorf("%s stands in a page", what)
			}
		}
	}
	if lines := strings.Count(log, "\n"); lines < 20 || !strings.Contains(log, "joined") {
		t.Errorf("the log has only %d lines: %s", lines, log)
	}
	promise.Kept(t, "T62", "built program", len(secrets))
}

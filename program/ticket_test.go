package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ticketRun runs the command as built.
func ticketRun(args ...string) result {
	return runWith(builtIn(), strings.NewReader(""), append([]string{"ticket"}, args...))
}

// keyFile returns a file with a new key.
func keyFile(t *testing.T) string {
	t.Helper()
	key := ticketRun("key")
	if key.status != exitOK || len(key.out) != 2*ticketKeyBytes+1 {
		t.Fatalf("ticket key: %+v", key)
	}
	return writeFile(t, key.out)
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "relay.key")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTicketsAreMadeAndChecked(t *testing.T) {
	key := keyFile(t)
	made := ticketRun("make", "--key-file", key, "--room", "arena", "--name", "ada", "--valid", "5m")
	if made.status != exitOK || made.err != "" {
		t.Fatalf("ticket make: %+v", made)
	}
	ticket := strings.TrimSpace(made.out)
	again := ticketRun("make", "--key-file", key, "--room", "arena", "--name", "ada", "--valid", "5m")
	if again.out == made.out {
		t.Error("two tickets are the same")
	}
	got := ticketRun("check", "--key-file", key, "--room", "arena", ticket)
	if got.status != exitOK || !strings.HasPrefix(got.out, `room "arena", name "ada", expires 2`) {
		t.Errorf("ticket check: %+v", got)
	}
	got = ticketRun("check", "--json", "--key-file", key, "--room", "arena", ticket)
	if got.status != exitOK || !strings.HasPrefix(got.out, `{"room":"arena","name":"ada","expires":"2`) {
		t.Errorf("ticket check --json: %+v", got)
	}
	got = ticketRun("check", "--json", "--key-file", key, "--room", "cellar", ticket)
	if got.status != exitFailed || !strings.Contains(got.out, `"error":"relay: ticket is for another room"`) || got.err != "parley: relay: ticket is for another room\n" {
		t.Errorf("in another room: %+v", got)
	}
	const at = 20 // a digit of the serial
	other := "a"
	if ticket[at] == 'a' {
		other = "b"
	}
	changed := ticket[:at] + other + ticket[at+1:]
	got = ticketRun("check", "--key-file", key, "--room", "arena", changed)
	if got.status != exitFailed || got.out != "" || !strings.Contains(got.err, "was not issued with this key") {
		t.Errorf("a changed ticket: %+v", got)
	}
	got = ticketRun("check", "--key-file", keyFile(t), "--room", "arena", ticket)
	if got.status != exitFailed || got.out != "" || !strings.Contains(got.err, "was not issued with this key") {
		t.Errorf("with another key: %+v", got)
	}
}

// No room and main are the same room: that of a server.
func TestTicketsForTheServersRoom(t *testing.T) {
	key := keyFile(t)
	for _, made := range []string{"", "main", "cellar"} {
		ticket := strings.TrimSpace(ticketRun("make", "--key-file", key, "--room", made).out)
		for _, asked := range []string{"", "main", "cellar"} {
			want := exitOK
			if (made == "cellar") != (asked == "cellar") {
				want = exitFailed
			}
			if got := ticketRun("check", "--key-file", key, "--room", asked, ticket); got.status != want {
				t.Errorf("a ticket for %q in %q: %+v", made, asked, got)
			}
		}
	}
}

// Every mistake is one sentence that says what to do, and its exit status says whose it is.
func TestTicketMistakesAreOneSentence(t *testing.T) {
	key := keyFile(t)
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"an unknown subcommand", []string{"forge"}, exitUsage, "not a command of ticket: they are key, make and check"},
		{"no key", []string{"make"}, exitUsage, "--key-file is missing"},
		{"no key to check with", []string{"check", "x"}, exitUsage, "--key-file is missing"},
		{"a key that is not there", []string{"make", "--key-file", key + ".not"}, exitFailed, "cannot read the key"},
		{"a key that is not hex", []string{"make", "--key-file", writeFile(t, "secret")}, exitFailed, "is not hex"},
		{"a short key", []string{"make", "--key-file", writeFile(t, "00112233")}, exitFailed, "has 4 bytes, and at least 16 are needed"},
		{"no time", []string{"make", "--key-file", key, "--valid", "0s"}, exitUsage, "give at least 1s"},
		{"a long name", []string{"make", "--key-file", key, "--name", strings.Repeat("x", 101)}, exitUsage, "more than 100 bytes"},
		{"the server's name", []string{"make", "--key-file", key, "--name", "Sеrver"}, exitUsage, "looks like the name of the server itself"},
		{"no ticket", []string{"check", "--key-file", key}, exitUsage, "takes one ticket"},
		{"two tickets", []string{"check", "--key-file", key, "a", "b"}, exitUsage, "takes one ticket"},
		{"not hex", []string{"check", "--key-file", key, "***"}, exitFailed, "not hex"},
		{"not a ticket", []string{"check", "--key-file", key, "AAAA"}, exitFailed, "not a ticket"},
		{"an argument too many", []string{"key", "x"}, exitUsage, "takes no arguments"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ticketRun(tt.args...)
			if got.status != tt.status || got.out != "" || !strings.Contains(got.err, tt.want) || strings.Count(got.err, "\n") != 1 {
				t.Errorf("got %+v, want status %d and %q on one line", got, tt.status, tt.want)
			}
			if strings.Contains(got.err, "secret") {
				t.Error("the key is shown")
			}
		})
	}
}

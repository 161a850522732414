package blackbox

import (
	"context"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/play/bots"
	"parley/test/field"
)

// ticketServer serves with a key, and returns the key's file. The data folder is kept from one to the next.
func ticketServer(t *testing.T, dir string, more ...string) (*server, string) {
	t.Helper()
	key := filepath.Join(dir, "server.key")
	if _, err := os.Stat(key); err != nil {
		status, text, errs := run(t, "ticket", "key")
		if status != 0 {
			t.Fatalf("ticket key: status %d, %s", status, errs)
		}
		if err := os.WriteFile(key, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return serve(t, append(more, "--ticket-key-file", key, "--data", filepath.Join(dir, "data"), "--stamp", "off")...), key
}

func makeTicket(t *testing.T, key string) string {
	t.Helper()
	// As the help of `parley ticket` has it.
	status, text, errs := run(t, "ticket", "make", "--key-file", key, "--room", "main", "--name", "ada", "--valid", "5m")
	if status != 0 {
		t.Fatalf("ticket make: status %d, %s", status, errs)
	}
	return strings.TrimSpace(text)
}

var ticketDialects = []string{"replica", "relay", "duplex"}

// enters reports whether a ticket lets somebody in, and else what they are told. It stays in until the test ends.
func enters(t *testing.T, s *server, dialect, ticket string) (in bool, told string) {
	t.Helper()
	raw, err := hex.DecodeString(ticket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	v, err := field.Visit(ctx, dialect, s.addrs[dialect], bots.Config{Schema: field.Schema(t, arena.Game()), Ticket: raw})
	if err != nil {
		return false, err.Error()
	}
	t.Cleanup(func() {
		late, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		v.Close(late)
	})
	in = v.Wait(patience)
	return in, v.Ended()
}

// mustEnter has a new ticket let somebody in, and returns it. A server that is behind the clock has them come again, each time with a
// ticket of its own: who was cut off on the way may have used one up.
func mustEnter(t *testing.T, s *server, dialect, key string) (ticket string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		ticket = makeTicket(t, key)
		in, told := enters(t, s, dialect, ticket)
		if in {
			return ticket
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: a new ticket does not let in: %s", dialect, told)
		}
	}
}

// T35, 15.4: one ticket lets in one player, whatever the dialect of the others who show it, and nobody after a restart.
func TestATicketLetsInOnePlayer(t *testing.T) {
	dir := t.TempDir()
	s, key := ticketServer(t, dir)
	tries := 0
	refused := func(s *server, dialect, ticket, why string) {
		t.Helper()
		if in, told := enters(t, s, dialect, ticket); in || !strings.Contains(told, why) {
			t.Errorf("%s: in %v, told %q, want %q", dialect, in, told, why)
		}
		tries++
	}
	var used []string
	for i, first := range ticketDialects {
		ticket := mustEnter(t, s, first, key)
		used = append(used, ticket)
		for j := range ticketDialects {
			refused(s, ticketDialects[(i+j)%len(ticketDialects)], ticket, "")
		}
		refused(s, first, "", "")
	}
	s.stop(t)
	s, _ = ticketServer(t, dir)
	for _, ticket := range used {
		for _, dialect := range ticketDialects {
			refused(s, dialect, ticket, "")
		}
	}
	mustEnter(t, s, "relay", key)
	promise.Kept(t, "T35", "built program", tries)
}

// 15.4: join and bots have tickets, and what is wrong with one is said.
func TestJoinAndBotsHaveTickets(t *testing.T) {
	t.Parallel() // it mostly waits
	s, key := ticketServer(t, t.TempDir())
	join := func(args ...string) (int, string) {
		cmd := exec.CommandContext(t.Context(), program, append([]string{"join"}, args...)...)
		cmd.Stdin = strings.NewReader("who\nquit\n")
		defer patient.End().Stop()
		out, err := cmd.CombinedOutput()
		return statusOf(err), string(out)
	}
	// On a machine that is busy elsewhere a player may have no place in the ten seconds that join waits, and comes again.
	ticket := ""
	for try, in := 1, false; !in; try++ {
		ticket = makeTicket(t, key)
		status, out := join("relay", s.addrs["relay"], "--ticket", ticket)
		if in = status == 0 && strings.Contains(out, "which is you"); !in && try == 5 {
			t.Fatalf("join with a ticket: status %d, %s", status, out)
		}
	}
	for _, dialect := range ticketDialects {
		if status, out := join(dialect, s.addrs[dialect], "--ticket", ticket); status != 1 || strings.Contains(out, "which is you") {
			t.Errorf("join %s with a used ticket: status %d, %s", dialect, status, out)
		} else {
			t.Logf("%s", out)
		}
		if status, out := join(dialect, s.addrs[dialect]); status != 1 {
			t.Errorf("join %s without a ticket: status %d, %s", dialect, status, out)
		} else {
			t.Logf("%s", out)
		}
	}
	// Bots that were not let in before their time is over are an error; on a slow machine they need more of it.
	for _, long := range []string{"3s", "10s", "30s", "60s"} {
		status, out, errs := run(t, "bots", "--ready-file", s.ready, "--ticket-key-file", key, "-n", "8", "--for", long)
		if status == 0 {
			break
		}
		if t.Logf("bots with a key, for %s: status %d, %s%s", long, status, out, errs); long == "60s" {
			t.Error("bots with a key fail")
		}
	}
	if status, _, errs := run(t, "bots", "--ready-file", s.ready, "--mix", "relay=1", "--for", "2s"); status != 1 {
		t.Errorf("bots without a key: status %d, %s", status, errs)
	}
}

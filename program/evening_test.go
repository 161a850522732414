package program

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	front "parley"
	"parley/internal/patient"
	"parley/web"
)

// moderator types the operator's commands.
type moderator struct {
	*testing.T
	server, token string
}

// types runs a command, which must end with a status and print some texts.
func (m *moderator) types(status int, line string, want ...string) string {
	m.Helper()
	got := runWith(builtIn(), strings.NewReader(""), append(words(line), "--server", m.server, "--token-file", m.token))
	if got.status != status {
		m.Fatalf("parley %s ends with %d: %s%s", line, got.status, got.out, got.err)
	}
	for _, text := range want {
		if !strings.Contains(got.out+got.err, text) {
			m.Errorf("parley %s prints no %q:\n%s%s", line, text, got.out, got.err)
		}
	}
	return got.out
}

// words splits a line as a shell does, with single quotes.
func words(line string) (list []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			list = append(list, part)
			continue
		}
		list = append(list, strings.Fields(part)...)
	}
	return list
}

// A moderator's evening in commands, as docs/operate.md has it, against a server that runs.
func TestAModeratorsEvening(t *testing.T) {
	patient.Test(t)
	s, addrs, c := operated(t, func(c *front.Config) { c.Sight = -1 })
	m := &moderator{t, c.url, writeFile(t, c.token+"\n")}

	m.types(0, "rooms", "ROOM", "main", "0/1000", "open")
	m.types(0, "rooms main --json", `"idle":-1,`)
	ann := join(t, "", "replica", addrs["replica"], "--name", "ann")
	eve := join(t, "", "relay", addrs["relay"], "--name", "eve", "--no-resume")
	m.types(0, "players", "ann", "replica/udp", "eve", "relay/udp", "127.0.0.1:")
	m.types(0, "players --room main", "ann", "eve")
	m.types(3, "players --room nowhere", "no such room: nowhere")
	m.types(0, "say 'be kind, all of you'", "said to all rooms")
	ann.waits("be kind, all of you", "")
	m.types(2, "say --room main '"+strings.Repeat("x", 600)+"'", "600 bytes")

	m.types(0, "kick main "+playerNumber(t, s, "eve")+" --reason 'that was not kind'", "kicked player")
	eve.waits("that was not kind", "")
	if status := patient.Value(eve.done); status != exitFailed {
		t.Errorf("a kicked join ends with %d", status)
	}
	eve.in.Close()
	m.types(3, "kick main 999", "no such player: 999 in main\n")
	m.types(3, "kick nowhere 1", "no such room: nowhere\n")
	m.types(3, "say --room nowhere hello", "parley: no such room: nowhere\n")

	m.types(0, "ban 203.0.113.0/24 --for 1h --reason spam", "203.0.113.0/24", "address", "spam")
	m.types(0, "ban 2001:db8::1", "2001:db8::1", "for ever")
	m.types(3, "ban nobody", "no such account")
	m.types(0, "ban list", "203.0.113.0/24", "2001:db8::1")
	m.types(0, "ban lift 203.0.113.0/24", "lifted the ban of 203.0.113.0/24")
	m.types(3, "ban lift 203.0.113.0/24", "no such ban")
	m.types(2, "ban 0.0.0.0/0", "every address")

	m.types(0, "rooms open duel-7 --mode duel --max-players 2 --seed 18446744073709551615 --idle 5m", "duel-7", "asleep", "0/2")
	m.types(1, "rooms open duel-7", "there is a room of that name")
	var room web.Room
	if err := json.Unmarshal([]byte(m.types(0, "rooms duel-7 --json")), &room); err != nil || room.Seed != 1<<64-1 || room.Idle != 300 || room.MaxPlayers != 2 {
		t.Errorf("%+v, %v", room, err)
	}
	m.types(0, "rooms close duel-7", "closed the room duel-7")
	m.types(3, "rooms duel-7", "no such room")
	m.types(1, "rooms close main", "main")
	m.types(1, "ticket make --name ann", "no ticket key: start the server with --ticket-key-file\n")
	m.types(2, "match --players 1", "parley: no such match: a match has 2 to")

	// Two programs of the operator's look for a match, and a player takes one of the tickets.
	first := make(chan string, 1)
	go func() { first <- m.types(0, "match --mode duel --name ben --json") }()
	var match, other web.Match
	if err := json.Unmarshal([]byte(m.types(0, "match --mode duel --name cat --json")), &match); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(patient.Value(first)), &other); err != nil || other.Room != match.Room || other.Ticket == match.Ticket {
		t.Errorf("%+v and %+v, %v", match, other, err)
	}
	if _, err := hex.DecodeString(match.Ticket); err != nil {
		t.Error(err)
	}
	cat := join(t, "", "duplex", addrs["duplex"], "--ticket", match.Ticket)
	m.types(0, "players --room "+match.Room, "cat", "duplex/tcp")
	for _, u := range []*terminalUser{ann, cat} {
		u.types("quit")
		u.in.Close()
		patient.Value(u.done)
	}
}

func playerNumber(t *testing.T, s *front.Server, name string) string {
	t.Helper()
	list, err := s.Players()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Name == name {
			return strconv.Itoa(int(p.ID))
		}
	}
	t.Fatalf("%s is not there: %+v", name, list)
	return ""
}

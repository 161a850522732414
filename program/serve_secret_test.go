package program

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	front "parley"
	"parley/arena"
	"parley/internal/promise"
	"parley/play/bots"
	"parley/protocol/relay"
	ground "parley/test/field"
)

// lockedBuffer is a log.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// T74: no answer of the API, none of its events and no line of the log has the operator's token, the ticket key, a ticket that was used, a
// session's token or a password. Only the answer to a request for a ticket has that ticket.
func TestTheAPITellsNoSecret(t *testing.T) {
	t.Parallel() // it waits for most of its time
	key := relay.TicketKey("the secret key of a server")
	log := &lockedBuffer{}
	s, addrs, c := operated(t, func(c *front.Config) {
		c.TicketKey, c.Log = key, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	secrets := map[string][]byte{"the operator's token": []byte(c.token), "the ticket key": key, "a password": []byte("correct horse battery")}
	schema := ground.Schema(t, arena.Game())
	var words strings.Builder // all that was answered
	for _, dialect := range []string{"replica", "relay", "duplex"} {
		ticket, err := relay.NewTicket(key, "", "player-"+dialect, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		secrets["the ticket of "+dialect] = ticket
		p := ground.Enter(t, dialect, addrs[dialect], bots.Config{Schema: schema, Ticket: ticket})
		token, _ := p.Session()
		secrets["the session of "+dialect] = token[:]
	}
	ground.Enter(t, "realm", addrs["realm"], bots.Config{Schema: schema, Plain: true, New: true, Name: "horse", Password: "correct horse battery"})
	for _, call := range []struct{ method, path, body string }{
		{"GET", "/v1/server", ""}, {"GET", "/v1/rooms", ""}, {"GET", "/v1/rooms/main", ""}, {"GET", "/v1/players", ""}, {"GET", "/v1/rooms/main/players", ""}, {"GET", "/v1/openapi.json", ""},
		{"POST", "/v1/rooms", `{"name":"a"}`}, {"DELETE", "/v1/rooms/a", ""}, {"POST", "/v1/say", `{"text":"hello"}`},
		{"POST", "/v1/bans", `{"account":"horse","reason":"a drill"}`}, {"GET", "/v1/bans", ""}, {"DELETE", "/v1/bans", `{"account":"horse"}`}, {"DELETE", "/v1/rooms/main/players/1", `{"reason":"a drill"}`},
		{"PUT", "/v1/log", `{"level":"debug"}`}, {"POST", "/v1/tickets", `{"name":"Guest-1"}`}, {"POST", "/v1/match", `{"players":-1}`}, {"GET", "/v1/nosuch", ""}, {"PATCH", "/v1/server", ""}, {"GET", "/v1/log", ""},
		{"GET", "/", ""}, {"GET", "/metrics", ""}, {"GET", "/readyz", ""},
	} {
		_, text := c.do(call.method, call.path, call.body, nil)
		words.WriteString(text)
	}
	words.WriteString(c.firstEvents(4))
	// A wrong token is not told to the log either, as it may be a right one with a slip of the pen.
	r, _ := http.NewRequest("GET", c.url+"/v1/server", nil)
	slip := "Bearer x" + c.token[1:]
	r.Header.Set("Authorization", slip)
	secrets["a wrong token"] = []byte(slip[8:])
	res, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for what, secret := range secrets {
		for _, form := range []string{string(secret), hex.EncodeToString(secret), strings.ToUpper(hex.EncodeToString(secret)), base64.RawStdEncoding.EncodeToString(secret), strings.Trim(fmt.Sprint(secret), "[]")} {
			if strings.Contains(words.String(), form) {
				t.Errorf("%s is in an answer", what)
			}
			if strings.Contains(log.String(), form) {
				t.Errorf("%s is in the log", what)
			}
		}
	}
	if n := strings.Count(log.String(), "\n"); n < 15 || words.Len() < 10_000 || !strings.Contains(words.String(), "player-relay") {
		t.Errorf("the log has only %d lines, and the answers %d bytes", n, words.Len())
	}
	promise.Kept(t, "T74", "secrets", len(secrets))
}

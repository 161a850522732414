package attack

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/play/bots"
	"parley/play/gateway"
	"parley/protocol/realm"
	"parley/protocol/relay"
	"parley/test/field"
)

// needleBytes is how much of a secret's text is looked for: any so long part of it.
const needleBytes = 10

// secrets is a log that knows what must not stand in it.
type secrets struct {
	mu      sync.Mutex
	parts   map[string]string // of needleBytes, and what they are a part of
	lines   int
	found   []string
	reasons map[string]int // lines of a kind
}

// keep has a secret looked for, in all ways that a program may print it.
func (s *secrets) keep(what string, secret []byte) {
	for _, text := range []string{
		string(secret), hex.EncodeToString(secret), strings.ToUpper(hex.EncodeToString(secret)), strconv.Quote(string(secret)), strings.Trim(fmt.Sprint(secret), "[]"),
		base64.RawStdEncoding.EncodeToString(secret), base64.RawURLEncoding.EncodeToString(secret),
	} {
		for i := range max(len(text)-needleBytes+1, 0) {
			s.parts[text[i:i+needleBytes]] = what
		}
	}
}

// Write takes a line of the log.
func (s *secrets) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines++
	for i := range max(len(line)-needleBytes+1, 0) {
		if what, ok := s.parts[string(line[i:i+needleBytes])]; ok && len(s.found) < 10 {
			s.found = append(s.found, fmt.Sprintf("%s: %s", what, line))
			break
		}
	}
	if _, after, ok := strings.Cut(string(line), "msg="); ok {
		s.reasons[strings.Fields(after)[0]]++
	}
	return len(line), nil
}

func (s *secrets) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines
}

// T62: no ticket, key or password stands in the log, whatever becomes of who showed it. Each dialect logs every line here: those that
// a program would leave out, as there are too many of a kind in a second, are looked at too.
func TestTheLogTellsNoSecret(t *testing.T) {
	n := promise.Keeps(t, "T62", "log lines", count(500, 100_000))
	told := &secrets{parts: map[string]string{}, reasons: map[string]int{}}
	key := relay.TicketKey("the secret key of a server")
	told.keep("the key", key)
	tickets := make([][]byte, 400)
	for i := range tickets {
		var err error
		if tickets[i], err = relay.NewTicket(key, "main", "ada", time.Hour); err != nil {
			t.Fatal(err)
		}
		told.keep("a ticket", tickets[i][9:25]) // its serial
		told.keep("a ticket", tickets[i][len(tickets[i])-16:])
	}
	forged := append([]byte(nil), tickets[0]...)
	forged[len(forged)-1] ^= 1
	const password = "correct horse battery staple"
	told.keep("a password", []byte(password))

	log := slog.New(slog.NewTextHandler(told, &slog.HandlerOptions{Level: slog.LevelDebug}))
	const rate = 100
	h, err := gateway.New(gateway.Config{Game: arena.Game(), TickRate: rate, Sight: 8, MaxPlayers: 500, PerAddress: -1, TicketKey: key, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	addrs := map[string]string{}
	open := func(d interface {
		Name() string
		Addr() netip.AddrPort
	}, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		addrs[d.Name()] = d.Addr().String()
	}
	open(gateway.NewReplica(h, gateway.ReplicaConfig{Addr: field.Any, Log: log}))
	open(gateway.NewRelay(h, gateway.RelayConfig{Addr: field.Any, Log: log}))
	open(gateway.NewStamp(h, gateway.StampConfig{Addr: field.Any, Log: log}))
	open(gateway.NewDuplex(h, gateway.DuplexConfig{Addr: field.Any, Log: log}))
	open(gateway.NewRealm(h, gateway.RealmConfig{Addr: field.Any, Server: realm.Config{Plain: true, Log: log}}))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	defer func() {
		cancel()
		if err := patient.Value(ended); err != nil {
			t.Error(err)
		}
	}()

	schema := field.Schema(t, arena.Game())
	var next atomic.Int64
	var in [5]atomic.Int64
	visit := func(i int, dialect string, long time.Duration) { // long is for how long it waits to be in, once it is connected
		k := int(next.Add(1))
		c := bots.Config{Schema: schema, TickRate: rate, Plain: true, New: true, Name: fmt.Sprint("p", k), Password: password, Ticket: tickets[k%len(tickets)]}
		if dialect == "stamp" {
			c.Ticket = nil
		} else if k%7 == 0 {
			c.Ticket = forged
		}
		soon, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		v, err := field.Visit(soon, dialect, addrs[dialect], c)
		if err != nil {
			return // as most are, with a ticket that is used
		}
		if dialect != "stamp" && v.Wait(long) {
			in[i].Add(1)
		}
		v.Close(soon)
	}
	dialects := []string{"replica", "relay", "duplex", "stamp", "realm"} // stamp only watches, and this realm has no accounts
	for i, dialect := range dialects[:3] {                               // before there is a crowd, in which a slow machine lets nobody in
		for tries := 0; in[i].Load() == 0 && tries < 20; tries++ {
			visit(i, dialect, time.Minute)
		}
	}
	var wg sync.WaitGroup
	for i, dialect := range dialects {
		for range 48 {
			wg.Go(func() {
				for told.count() < n {
					visit(i, dialect, time.Second)
				}
			})
		}
	}
	patient.Done(wg.Wait)
	told.mu.Lock() // the server goes on
	defer told.mu.Unlock()
	for _, line := range told.found {
		t.Errorf("the log has %s", line)
	}
	for i, dialect := range dialects {
		t.Logf("%s: %d were in", dialect, in[i].Load())
		if in[i].Load() == 0 && i < 3 {
			t.Errorf("nobody was in over %s", dialect)
		}
	}
	t.Logf("%d lines after %d visits: %v", told.lines, next.Load(), told.reasons)
}

package parley_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley"
	"parley/arena"
	"parley/internal/patient"
	"parley/play/bots"
	"parley/play/message"
	"parley/test/field"
)

// quiet is a server that nobody can reach: for what needs no player.
func quiet(dir string) parley.Config {
	c := field.Replica()
	c.Replica, c.DataDir = parley.Off, dir
	return c
}

func startQuiet(t *testing.T, dir string) *parley.Server {
	t.Helper()
	s, err := parley.Start(arena.Game(), quiet(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func prefix(t *testing.T, text string) netip.Prefix {
	t.Helper()
	p, err := parley.ParsePrefix(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bansOf returns the bans, a line for each.
func bansOf(t *testing.T, s *parley.Server) string {
	t.Helper()
	list, err := s.Bans()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, b := range list {
		who := b.Account
		if who == "" {
			who = b.Prefix.String()
		}
		lines = append(lines, fmt.Sprintf("%s %q", who, b.Reason))
	}
	return strings.Join(lines, ", ")
}

func TestBansAreKeptOverARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data") // which is made when it is needed
	s := startQuiet(t, dir)
	if _, err := os.Stat(dir); err == nil {
		t.Error("the data folder is there before a ban")
	}
	soon := time.Now().Add(time.Hour)
	for _, b := range []parley.Ban{
		{Prefix: prefix(t, "192.0.2.77/24"), Reason: "a \"net\"\n"}, {Prefix: prefix(t, "::ffff:198.51.100.7")}, {Prefix: prefix(t, "2001:db8::/56"), Until: soon},
		{Prefix: prefix(t, "127.0.0.9")}, {Prefix: prefix(t, "10.0.0.0/8"), Reason: "old"}, {Prefix: prefix(t, "10.0.0.0/8"), Reason: "new"},
	} {
		if err := s.Ban(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Unban(parley.Ban{Prefix: prefix(t, "127.0.0.9")}); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"127.0.0.9", "10.0.0.1", "10.0.0.0/7"} {
		if err := s.Unban(parley.Ban{Prefix: prefix(t, text)}); !errors.Is(err, parley.ErrNoBan) {
			t.Errorf("the ban of %s that is not there is lifted: %v", text, err)
		} else if holds := strings.Contains(err.Error(), "10.0.0.0/8, which holds it, is banned"); holds != (text == "10.0.0.1") {
			t.Errorf("%s: %v", text, err)
		}
	}
	want := `10.0.0.0/8 "new", 192.0.2.0/24 "a \"net\"\n", 198.51.100.7/32 "", 2001:db8::/56 ""`
	if got := bansOf(t, s); got != want {
		t.Errorf("the bans are %s, want %s", got, want)
	}
	s.Close()
	if err := s.Ban(parley.Ban{Prefix: prefix(t, "10.1.1.1")}); !errors.Is(err, parley.ErrClosed) {
		t.Errorf("a ban at a closed server: %v", err)
	}
	// What a server that was killed at the next ban has left behind changes nothing.
	if err := os.WriteFile(filepath.Join(dir, "bans.json.new"), []byte(`{"ver`), 0o600); err != nil {
		t.Fatal(err)
	}
	s = startQuiet(t, dir)
	if got := bansOf(t, s); got != want {
		t.Errorf("after a restart the bans are %s, want %s", got, want)
	}
	if n := s.Stats().Bans; n != 4 {
		t.Errorf("%d bans are counted, want 4", n)
	}
	list, _ := s.Bans()
	if got := list[3].Until; !got.Equal(soon) {
		t.Errorf("a ban ends at %v, want %v", got, soon)
	}
}

func TestADamagedListOfBansKeepsAServerFromStarting(t *testing.T) {
	for _, text := range []string{
		"", "{", `[]`, `{"version":2,"bans":[]}`, `{"version":1,"bans":[{"prefix":"x"}]}`, `{"version":1,"bans":[{"prefix":"0.0.0.0/0"}]}`,
		`{"version":1,"bans":[{"prefix":"192.0.2.0/24","allow":true}]}`, `{"version":1,"bans":[{"reason":"of nobody"}]}`, `{"version":1,"bans":[]} {}`,
		`{"version":1,"bans":[{"prefix":"192.0.2.0/24","until":"tomorrow"}]}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "bans.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := parley.Start(arena.Game(), quiet(dir))
		if err == nil {
			s.Close()
			t.Errorf("a server starts with the bans %q", text)
		} else if !strings.Contains(err.Error(), "bans.json") || !strings.Contains(err.Error(), "mend the file") {
			t.Errorf("%q: the error says not what to do: %v", text, err)
		}
	}
	// By hand: masked, twice, and one that is over.
	dir := t.TempDir()
	text := `{"version":1,"bans":[{"prefix":"192.0.2.9/24"},{"prefix":"192.0.2.0/24","until":"2001-01-01T00:00:00Z"},{"prefix":"10.0.0.1/32","until":"2001-01-01T00:00:00Z"}]}`
	if err := os.WriteFile(filepath.Join(dir, "bans.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := bansOf(t, startQuiet(t, dir)), `192.0.2.0/24 ""`; got != want {
		t.Errorf("the bans are %s, want %s", got, want)
	}
}

func TestBansThatCannotBeAreRefused(t *testing.T) {
	s := startQuiet(t, t.TempDir())
	one := prefix(t, "192.0.2.1")
	for _, tt := range []struct {
		ban  parley.Ban
		want error
		says string
	}{
		{parley.Ban{}, parley.ErrBan, "neither"},
		{parley.Ban{Prefix: one, Account: "bob"}, parley.ErrBan, "both"},
		{parley.Ban{Prefix: netip.MustParsePrefix("0.0.0.0/0")}, parley.ErrBan, "every address"},
		{parley.Ban{Prefix: netip.MustParsePrefix("1.2.3.4/0")}, parley.ErrBan, "every address"},
		{parley.Ban{Prefix: netip.MustParsePrefix("::/0")}, parley.ErrBan, "every address"},
		{parley.Ban{Prefix: netip.MustParsePrefix("::ffff:0:0/96")}, parley.ErrBan, "every address"},
		{parley.Ban{Prefix: one, Reason: strings.Repeat("x", 513)}, parley.ErrBan, "512"},
		{parley.Ban{Prefix: one, Reason: "\xff"}, parley.ErrBan, "UTF-8"},
		{parley.Ban{Prefix: one, Until: time.Now().Add(-time.Second)}, parley.ErrBan, "is over"},
		{parley.Ban{Prefix: one, Until: time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200))}, parley.ErrBan, "the year 10000"}, // which JSON cannot write
		{parley.Ban{Account: "bob"}, parley.ErrNoAccount, "realm is off"},
	} {
		if err := s.Ban(tt.ban); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("ban %v: %v, want %v that says %q", tt.ban, err, tt.want, tt.says)
		}
	}
	for _, text := range []string{"", "x", "192.0.2", "192.0.2.0/33", "2001:db8::/129"} {
		if _, err := parley.ParsePrefix(text); !errors.Is(err, parley.ErrBan) {
			t.Errorf("%q is a prefix: %v", text, err)
		}
	}
	if got := bansOf(t, s); got != "" {
		t.Errorf("these are banned: %s", got)
	}
}

func TestABanHoldsAlsoIfItCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := startQuiet(t, dir)
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // no folder can be there
		t.Fatal(err)
	}
	one := prefix(t, "192.0.2.1")
	if err := s.Ban(parley.Ban{Prefix: one}); !errors.Is(err, parley.ErrBanNotKept) {
		t.Errorf("a ban that cannot be written: %v", err)
	}
	if got, want := bansOf(t, s), `192.0.2.1/32 ""`; got != want {
		t.Errorf("the bans are %q, want %q", got, want)
	}
	if err := s.Unban(parley.Ban{Prefix: one}); !errors.Is(err, parley.ErrBanNotKept) || bansOf(t, s) != "" {
		t.Errorf("lifting it: %v, left is %q", err, bansOf(t, s))
	}
}

func TestThereAreSoManyBansAtMost(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	b.WriteString(`{"version":1,"bans":[`)
	for i := range parley.MaxBans {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"prefix":"10.%d.%d.0/24","reason":"r"}`, i/256, i%256)
	}
	b.WriteString("]}")
	if err := os.WriteFile(filepath.Join(dir, "bans.json"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startQuiet(t, dir)
	if err := s.Ban(parley.Ban{Prefix: prefix(t, "192.0.2.1")}); !errors.Is(err, parley.ErrTooManyBans) {
		t.Errorf("one ban more than there may be: %v", err)
	}
	if err := s.Ban(parley.Ban{Prefix: prefix(t, "10.0.7.0/24"), Reason: "another"}); err != nil {
		t.Errorf("a ban in place of one that is there: %v", err)
	}
	if n := s.Stats().Bans; n != parley.MaxBans {
		t.Errorf("%d bans are counted", n)
	}
}

// diary is a log that is kept.
type diary struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *diary) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *diary) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(l.b.String(), "\n")
}

// TestABanRemovesThePlayersOfAnAddress has a player in each dialect, bans their address, and has them try to come back.
func TestABanRemovesThePlayersOfAnAddress(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := field.Config()
	log := new(diary)
	c.Log, c.DataDir = logTo(log), t.TempDir()
	s := field.Serve(t, arena.Game(), c)
	dialects := []string{"replica", "stamp", "relay", "duplex", "realm"}
	var visitors []*field.Visitor
	for _, d := range dialects {
		visitors = append(visitors, field.Enter(t, d, s.At[d], comer(s, d)))
	}
	here := netip.MustParseAddr("127.0.0.1")
	for _, p := range playersOf(t, s) {
		carrier := map[string]string{"replica": "udp", "relay": "udp", "duplex": "tcp", "realm": "tcp"}[p.Dialect]
		if p.Addr.Addr() != here || p.Addr.Port() == 0 || p.Carrier != carrier || p.Conn == 0 || time.Since(p.Since) > time.Hour || time.Since(p.Since) < 0 {
			t.Errorf("a player of %s is at %v by %s since %v, conn %d", p.Dialect, p.Addr, p.Carrier, p.Since, p.Conn)
		}
	}
	s.Within(t, "all round trips are known", func() bool {
		for _, p := range playersOf(t, s) {
			if p.RTT <= 0 {
				return false
			}
		}
		return true
	})
	if err := s.Ban(parley.Ban{Prefix: netip.PrefixFrom(here, 31), Reason: "rude"}); err != nil {
		t.Fatal(err)
	}
	for _, v := range visitors {
		told := v.Gone()
		switch {
		case v.Dialect == "stamp": // it has no words
		case v.Dialect == "realm" && !strings.Contains(told, "client_banned"):
			t.Errorf("realm: its exit is %q", told)
		case strings.Contains(told, "banned: rude") || v.Heard("banned: rude"):
		default:
			t.Errorf("%s: it is told %q, and not that it is banned", v.Dialect, told)
		}
	}
	s.Within(t, "all are gone", func() bool { return len(playersOf(t, s)) == 0 && s.Stats().World.Spectators == 0 })
	before := bannedBy(s)
	for _, d := range dialects {
		ctx, cancel := context.WithCancel(t.Context())
		turned := make(chan struct{})
		go func() {
			defer close(turned)
			if v, err := field.Visit(ctx, d, s.At[d], comer(s, d)); err == nil {
				if v.Wait(field.Patience) {
					t.Errorf("%s: a banned player is in again", d)
				}
				v.Leave()
			}
		}()
		s.Within(t, d+" turns it away", func() bool { return bannedBy(s)[d] > before[d] })
		cancel()
		patient.Value(turned)
	}
	if err := s.Unban(parley.Ban{Prefix: netip.PrefixFrom(here, 31)}); err != nil {
		t.Fatal(err)
	}
	for _, d := range dialects {
		again := comer(s, d)
		again.New = false
		field.Enter(t, d, s.At[d], again)
	}
	joined := logOf(t, s, log)
	for _, d := range []string{"replica", "relay", "duplex", "realm"} {
		if joined[d] == 0 {
			t.Errorf("no line of the log joins player, room, dialect and address of %s", d)
		}
	}
}

// comer is a player of a dialect.
func comer(s *field.Server, dialect string) bots.Config {
	return bots.Config{Schema: s.Schema, Plain: true, New: true, Name: "ann-" + dialect, Password: "correct horse"}
}

// bannedBy returns how much each dialect has turned away.
func bannedBy(s *field.Server) map[string]uint64 {
	st := s.Stats()
	return map[string]uint64{
		"replica": st.Replica.Loop.Banned, "stamp": st.Stamp.Loop.Banned, "relay": st.Relay.Loop.Banned,
		"duplex": st.Duplex.Loop.Banned + st.Duplex.Streams.Banned, "realm": st.Realm.Streams.Banned + st.Realm.Time.Banned,
	}
}

// logOf reads the log: each player's lines must have the number and the address of its first.
func logOf(t *testing.T, s *field.Server, log *diary) (joined map[string]int) {
	t.Helper()
	joined = map[string]int{}
	peers := map[string]string{} // by conn
	for _, l := range log.all() {
		f := map[string]string{}
		for _, word := range strings.Fields(l) {
			if key, value, ok := strings.Cut(word, "="); ok {
				f[key] = value
			}
		}
		switch f["msg"] {
		case "joined", "left", "kicked", "connected", "disconnected", "watches":
			if f["conn"] == "" || f["peer"] == "" || f["proto"] == "" {
				t.Errorf("a line without a number, an address or a dialect: %s", l)
				continue
			}
			if was := peers[f["conn"]]; was != "" && was != f["peer"] {
				t.Errorf("conn %s is %s and %s", f["conn"], was, f["peer"])
			}
			peers[f["conn"]] = f["peer"]
			if f["msg"] == "joined" && f["player"] != "" && f["name"] != "" && f["room"] == "main" {
				joined[f["proto"]]++
			}
		}
	}
	return joined
}

// An account that is away is removed by a ban at once, and does not come back until the ban is lifted. An account that is away in a room and
// enters another leaves the first.
func TestAnAccountIsInOnePlaceOrBanned(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := field.Config()
	c.Hold, c.DataDir, c.Failures = time.Hour, t.TempDir(), -1
	s := field.Serve(t, arena.Game(), c)
	s.Audience(t)
	if err := s.Open(parley.Room{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	of := func() (list []parley.Player) {
		for _, p := range playersOf(t, s) {
			if p.Dialect == "realm" {
				list = append(list, p)
			}
		}
		return list
	}
	goAway := func(room string, isNew bool) {
		t.Helper()
		via, cut := cuttable(t, s.At["realm"])
		ann := comer(s, "realm")
		ann.Room, ann.New = room, isNew
		v := field.Enter(t, "realm", via, ann)
		cut()
		v.Gone()
		s.Within(t, "it is away", func() bool { list := of(); return len(list) == 1 && list[0].Away && list[0].Room == room })
	}
	goAway("main", true)
	goAway("other", false)
	if err := s.Ban(parley.Ban{Account: "Ann-Realm", Reason: "cheats"}); err != nil { // names are compared without case
		t.Fatal(err)
	}
	if list := of(); len(list) != 0 {
		t.Errorf("after the ban these are there: %+v", list)
	}
	if got, want := bansOf(t, s.Server), `ann-realm "cheats"`; got != want {
		t.Errorf("the bans are %s, want %s", got, want)
	}
	ann := comer(s, "realm")
	ann.New = false
	if v, err := field.Visit(t.Context(), "realm", s.At["realm"], ann); err == nil {
		if told := v.Gone(); !strings.Contains(told, "client_banned") {
			t.Errorf("a banned account is told %q", told)
		}
	} else if !strings.Contains(err.Error(), "client_banned") {
		t.Errorf("a banned account is told %v", err)
	}
	for _, b := range []parley.Ban{{Account: "nobody"}, {Account: "no name at all\n"}} {
		if err := s.Ban(b); !errors.Is(err, parley.ErrNoAccount) {
			t.Errorf("a ban of an account that is not there: %v", err)
		}
		if err := s.Unban(b); !errors.Is(err, parley.ErrNoAccount) {
			t.Errorf("lifting the ban of an account that is not there: %v", err)
		}
	}
	if err := s.Unban(parley.Ban{Account: "ann-realm"}); err != nil {
		t.Error(err)
	}
	if err := s.Unban(parley.Ban{Account: "ann-realm"}); !errors.Is(err, parley.ErrNoBan) {
		t.Errorf("lifting a ban again: %v", err)
	}
	v := field.Enter(t, "realm", s.At["realm"], ann)
	if err := s.Ban(parley.Ban{Account: "ann-realm", Reason: "again", Until: time.Now().Add(time.Hour)}); err != nil {
		t.Error(err)
	}
	if told := v.Gone(); !strings.Contains(told, "client_banned") || !v.Heard("banned: again") {
		t.Errorf("a player whose account is banned is told %q, and why: %v", told, v.Heard("banned: again"))
	}
	s.Within(t, "it is gone", func() bool { return len(of()) == 0 })
}

// Players who are away from a banned address are removed too, and their sessions are over.
func TestABanEndsTheSessionsOfThoseWhoAreAway(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := field.Config()
	c.Hold, c.DataDir = time.Hour, t.TempDir()
	c.Replica, c.Stamp, c.Relay, c.Realm = parley.Off, parley.Off, parley.Off, parley.Off
	s := field.Serve(t, arena.Game(), c)
	via, cut := cuttable(t, s.At["duplex"])
	v := field.Enter(t, "duplex", via, comer(s, "duplex"))
	s.Within(t, "it can come back", func() bool { list := playersOf(t, s); return len(list) == 1 && list[0].Returns })
	cut()
	v.Gone()
	s.Within(t, "it is away", func() bool { list := playersOf(t, s); return len(list) == 1 && list[0].Away })
	here := netip.MustParsePrefix("127.0.0.0/8")
	if err := s.Ban(parley.Ban{Prefix: here}); err != nil {
		t.Fatal(err)
	}
	if list := playersOf(t, s); len(list) != 0 {
		t.Errorf("after the ban these are there: %+v", list)
	}
	if err := s.Unban(parley.Ban{Prefix: here}); err != nil {
		t.Fatal(err)
	}
	again := comer(s, "duplex")
	again.Session, _ = v.Session()
	if w, err := field.Visit(t.Context(), "duplex", s.At["duplex"], again); err == nil {
		if told := w.Gone(); !strings.Contains(told, "no such session") && !strings.Contains(told, "8") {
			t.Errorf("its session is over, and it is told %q", told)
		}
	}
	if list := playersOf(t, s); len(list) != 0 {
		t.Errorf("by a session that is over these came back: %+v", list)
	}
}

// The level of the log changes while a server runs, and the newest lines can be read.
func TestTheOperatorSeesTheLog(t *testing.T) {
	c := field.Replica()
	log := new(diary)
	c.Log = logTo(log)
	s := field.Serve(t, arena.Game(), c)
	if got := s.LogLevel().String(); got != "INFO" {
		t.Errorf("the level is %s", got)
	}
	s.SetLogLevel(-4)
	s.Log().Debug("now seen")
	s.SetLogLevel(8)
	s.Log().Info("not seen")
	var last string
	for _, l := range s.LogTail() {
		if strings.Contains(l.Text, "not seen") {
			t.Errorf("the tail has a line below the level: %v", l)
		}
		last = l.Level.String() + " " + l.Text
	}
	if want := `ERROR the log has a new level level=ERROR`; last != want {
		t.Errorf("the newest line is %q, want %q", last, want)
	}
}

// No line of the log, at any level, has a ticket, a token or a password.
func TestTheTailOfTheLogHasNoSecrets(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := field.Config()
	c.DataDir, c.TicketKey = t.TempDir(), []byte("a key of more than thirty-two bytes")
	s := field.Serve(t, arena.Game(), c)
	s.SetLogLevel(slog.LevelDebug)
	secrets := [][]byte{c.TicketKey, []byte("correct horse")}
	for _, d := range []string{"replica", "relay", "duplex", "realm"} {
		ticket, err := s.Ticket("main", "ann-"+d, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		p := comer(s, d)
		if d != "realm" {
			p.Ticket = ticket
		}
		v := field.Enter(t, d, s.At[d], p)
		secrets = append(secrets, ticket[1:])
		if d != "realm" { // whose account is the session
			var token, none message.Token
			s.Within(t, d+" has a token", func() bool { token, _ = v.Session(); return token != none })
			secrets = append(secrets, token[:])
		}
		if err := s.Kick("main", playersOf(t, s)[0].ID, "next"); err != nil {
			t.Fatal(err)
		}
		v.Gone()
		s.Within(t, d+" is gone", func() bool { return len(playersOf(t, s)) == 0 })
		if w, err := field.Visit(t.Context(), d, s.At[d], p); err == nil { // by a ticket that was used, or registered before
			w.Leave()
		}
	}
	tail := s.LogTail()
	if len(tail) < 12 {
		t.Fatalf("the tail has %d lines: %v", len(tail), tail)
	}
	for _, l := range tail {
		for _, secret := range secrets {
			for _, form := range []string{string(secret), hex.EncodeToString(secret), fmt.Sprint(secret), base64.StdEncoding.EncodeToString(secret)} {
				if strings.Contains(l.Text, form) {
					t.Errorf("a line has a secret: %s", l.Text)
				}
			}
		}
	}
}

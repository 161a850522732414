package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/account"
	"parley/account/sqlite"
	"parley/internal/patient"
)

// accounts runs "parley account" on a directory.
func accounts(data, stdin, line string, more ...string) result {
	return parley(stdin, "account "+line, append(more, "--data", data)...)
}

func wantResult(t *testing.T, what string, got result, status int, out, errOut string) {
	t.Helper()
	if got.status != status || got.out != out || got.err != errOut {
		t.Errorf("%s:\ngot  status %d\nout %q\nerr %q\nwant status %d\nout %q\nerr %q", what, got.status, got.out, got.err, status, out, errOut)
	}
}

func TestAccountLife(t *testing.T) {
	data := filepath.Join(t.TempDir(), "new", "data")
	const secret = "correct horse\n"
	for _, tt := range []struct {
		name, stdin, line string
		more              []string
		status            int
		out, err          string
	}{
		{name: "before there is any", line: "list", status: 1,
			err: fmt.Sprintf("parley: there are no accounts in %q; \"parley account add\" makes the first, and --data names another folder\n", data)},
		{name: "ban before there is any", line: "ban ann", status: 1,
			err: fmt.Sprintf("parley: there are no accounts in %q; \"parley account add\" makes the first, and --data names another folder\n", data)},
		{name: "add", stdin: secret, line: "add Ann --password-stdin", out: "added Ann, account 1\n"},
		{name: "add the same name", stdin: secret, line: "add aNN --password-stdin", status: 1, err: "parley: the name \"aNN\" is taken; choose another\n"},
		{name: "add with a line end of Windows, and more lines", stdin: "correct horse\r\nmore\n", line: "add Straße --password-stdin", out: "added Straße, account 2\n"},
		{name: "add without a line end", stdin: "correct horse", line: "add bob --password-stdin", out: "added bob, account 3\n"},
		{name: "ban for ever", line: "ban strasse", out: "banned Straße for ever\n"},
		{name: "unban", line: "unban strasse", out: "unbanned Straße: the account may log in\n"},
		{name: "unban again", line: "unban strasse", out: "Straße was not banned: the account may log in\n"},
		{name: "set a password", stdin: "battery staple\n", line: "passwd ann --password-stdin", out: "changed the password of Ann\n"},
		{name: "set a short password", stdin: "battery\n", line: "passwd ann --password-stdin", status: 1, err: "parley: a password has 8 to 128 bytes\n"},
		{name: "set a password for no one", stdin: secret, line: "passwd clara --password-stdin", status: 1, err: "parley: no account is named \"clara\"; \"parley account list\" shows all\n"},
		{name: "remove", line: "rm BOB", out: "removed bob, account 3\n"},
		{name: "remove again", line: "rm bob", status: 1, err: "parley: no account is named \"bob\"; \"parley account list\" shows all\n"},
		{name: "ban no one", line: "ban bob", status: 1, err: "parley: no account is named \"bob\"; \"parley account list\" shows all\n"},
		{name: "unban no one", line: "unban", more: []string{"o'neil"}, status: 1, err: "parley: no account is named \"o'neil\"; \"parley account list\" shows all\n"},
	} {
		got := accounts(data, tt.stdin, tt.line, tt.more...)
		wantResult(t, tt.name, got, tt.status, tt.out, tt.err)
	}
	wantPassword(t, data, "ann", "battery staple")
	wantPassword(t, data, "strasse", "correct horse")
}

// wantPassword logs in, as a server on the same directory would.
func wantPassword(t *testing.T, data, name, password string) {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(data, sqlite.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := account.New(store, account.Config{})
	defer s.Close()
	answers := make(chan account.Answer, 1)
	if err := s.Login(netip.Addr{}, name, password, func(a account.Answer) { answers <- a }); err != nil {
		t.Fatal(err)
	}
	if a := patient.Value(answers); a.Result != account.OK {
		t.Errorf("log in of %s: %v", name, a.Result)
	}
}

func TestAccountMistakes(t *testing.T) {
	data := t.TempDir()
	for _, tt := range []struct{ line, want string }{
		{"frob", `"frob" is not a command of account: they are add, ban, list, passwd, rm and unban; see "parley account --help"`},
		{"add", `"parley account add" takes one name; it was given 0`},
		{"ban ann bob", `"parley account ban" takes one name; it was given 2`},
		{"list ann", `"parley account list" takes no arguments; leave out "ann"`},
		{"add ab --password-stdin", `"ab" is not a valid name: a name has 3 to 32 letters, digits, _ and -`},
		{"add Sеrver --password-stdin", `"Sеrver" looks like the name of the server itself, or of a guest; choose another`},
		{"add ann", `there is no terminal to ask for the password at; give it with --password-stdin`},
		{"passwd ann", `there is no terminal to ask for the password at; give it with --password-stdin`},
		{"ban ann --for 0s", `--for is 0s; give a time such as 24h, or leave it out for a ban without end`},
		{"ban ann --for -1h", `--for is -1h0m0s; give a time such as 24h, or leave it out for a ban without end`},
		{"ban ann --for tomorrow", `--for takes a time such as 30s or 24h, not "tomorrow"; see "parley account ban --help"`},
		{"list --postgres host=x", `--data and --postgres are two places for accounts; give one of them`},
	} {
		wantResult(t, tt.line, accounts(data, "correct horse\n", tt.line), 2, "", "parley: "+tt.want+"\n")
	}
	if files, err := os.ReadDir(data); err != nil || len(files) != 0 {
		t.Errorf("mistakes left %v, %v", files, err)
	}
}

func TestAccountFailures(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantResult(t, "no password", accounts(dir, "", "add ann --password-stdin"), 1, "",
		"parley: standard input is empty; its first line is the password\n")
	wantResult(t, "an empty password", accounts(dir, "\n", "add ann --password-stdin"), 1, "", "parley: a password has 8 to 128 bytes\n")
	for _, got := range []result{
		accounts(file, "correct horse\n", "add ann --password-stdin"),
		parley("", "account list --postgres", "host="+dir+" user=parley"),
		parley("", "account list --postgres", "host"),
	} {
		if got.status != 1 || got.out != "" || !strings.HasPrefix(got.err, "parley: ") || strings.Count(got.err, "\n") != 1 {
			t.Errorf("got %+v", got)
		}
	}
	// A password in the address of a database is not repeated.
	if got := parley("", "account list --postgres", "host="+dir+" password=hunter22 user=parley"); got.status != 1 || strings.Contains(got.err, "hunter22") {
		t.Errorf("got %+v", got)
	}
}

func TestAccountList(t *testing.T) {
	data := t.TempDir()
	store, err := sqlite.Open(filepath.Join(data, sqlite.FileName))
	if err != nil {
		t.Fatal(err)
	}
	wantResult(t, "of none", accounts(data, "", "list"), 0, "there are no accounts\n", "")
	wantResult(t, "of none as JSON", accounts(data, "", "list --json"), 0, "", "")
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, name := range []string{"Zoe", "bob", "ann"} {
		n, err := account.ParseName(name)
		r := account.Record{Account: account.Account{Name: name, Created: day.AddDate(0, 0, i)}, Key: n.Key, Hash: "$secret"}
		made, err2 := store.Create(t.Context(), r)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		switch name {
		case "bob":
			err = store.SetBan(t.Context(), made.ID, account.Ban{Since: day, Reason: "red\x1b[31m"})
		case "Zoe":
			err = errors.Join(store.Enter(t.Context(), made.ID, account.Visit{At: day.Add(time.Hour)}),
				store.SetBan(t.Context(), made.ID, account.Ban{Since: day, Until: day.Add(time.Minute), Reason: "<over>"}))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	wantResult(t, "as a table", accounts(data, "", "list"), 0, `ID  NAME  CREATED           LAST LOG-IN       BANNED
3   ann   2026-01-04 03:04  never             
2   bob   2026-01-03 03:04  never             for ever: "red\x1b[31m"
1   Zoe   2026-01-02 03:04  2026-01-02 04:04  
`, "")
	wantResult(t, "as JSON", accounts(data, "", "list --json"), 0, `{"id":3,"name":"ann","created":"2026-01-04T03:04:05Z"}
{"id":2,"name":"bob","created":"2026-01-03T03:04:05Z","ban":{"holds":true,"since":"2026-01-02T03:04:05Z","reason":"red\u001b[31m"}}
{"id":1,"name":"Zoe","created":"2026-01-02T03:04:05Z","lastLogin":"2026-01-02T04:04:05Z","ban":{"holds":false,"since":"2026-01-02T03:04:05Z","until":"2026-01-02T03:05:05Z","reason":"<over>"}}
`, "")
}

func TestAccountBanForATime(t *testing.T) {
	data := t.TempDir()
	accounts(data, "correct horse\n", "add ann --password-stdin")
	got := accounts(data, "", "ban ann --for 24h --reason", "rude words")
	if !regexp.MustCompile(`^banned ann until \d{4}-\d\d-\d\d \d\d:\d\d\n$`).MatchString(got.out) {
		t.Errorf("got %+v", got)
	}
	var shown accountShown
	if err := json.Unmarshal([]byte(accounts(data, "", "list --json").out), &shown); err != nil {
		t.Fatal(err)
	}
	if b := shown.Ban; b == nil || !b.Holds || b.Reason != "rude words" || b.Until.Sub(b.Since).Round(time.Minute) != 24*time.Hour {
		t.Errorf("got %+v", shown.Ban)
	}
}

// More accounts than one page has.
func TestAccountListOfMany(t *testing.T) {
	data := t.TempDir()
	store, err := sqlite.Open(filepath.Join(data, sqlite.FileName))
	if err != nil {
		t.Fatal(err)
	}
	const n = account.MaxList + 10
	errs := make(chan error, n)
	for i := range n {
		go func() {
			name := fmt.Sprintf("player-%04d", i)
			_, err := store.Create(t.Context(), account.Record{Account: account.Account{Name: name}, Key: name})
			errs <- err
		}()
	}
	for range n {
		if err := patient.Value(errs); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	got := accounts(data, "", "list --json")
	if lines := strings.Count(got.out, "\n"); got.status != 0 || lines != n || !strings.Contains(got.out, fmt.Sprintf("player-%04d", n-1)) {
		t.Errorf("%d lines, want %d; %d, %q", lines, n, got.status, got.err)
	}
}

// The directory and what is in it are their owner's only.
func TestAccountDataIsPrivate(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	accounts(data, "correct horse\n", "add ann --password-stdin")
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// With a server that runs on a PostgreSQL, if there is one.
func TestAccountInPostgres(t *testing.T) {
	dsn := os.Getenv("PARLEY_POSTGRES")
	if dsn == "" {
		t.Skip("not tested against PostgreSQL, as PARLEY_POSTGRES names no server; \".ci/postgres run\" starts one")
	}
	name := fmt.Sprintf("cli-%d", time.Now().UnixNano())
	for _, tt := range []struct{ stdin, line, want string }{
		{"correct horse\n", "add NAME --password-stdin", "added NAME, account "},
		{"", "ban NAME", "banned NAME for ever\n"},
		{"", "list --json", `"name":"NAME"`},
		{"", "rm NAME", "removed NAME, account "},
	} {
		got := parley(tt.stdin, "account "+strings.ReplaceAll(tt.line, "NAME", name), "--postgres", dsn)
		if got.status != 0 || got.err != "" || !strings.Contains(got.out, strings.ReplaceAll(tt.want, "NAME", name)) {
			t.Errorf("%s: %+v", tt.line, got)
		}
	}
}

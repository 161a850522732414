package program

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	front "parley"
)

func TestAServerIsKnownFromItsFirstCertificate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "known_servers")
	one, two := strings.Repeat("a1", 32), strings.Repeat("b2", 32)
	var told []string
	k := knownServers{file, func(text string) { told = append(told, text) }}
	for _, tt := range []struct{ name, addr, print, fault string }{
		{"a new server", "game.example:9999", one, ""},
		{"the same again", "game.example:9999", one, ""},
		{"the same in other words", "GAME.example.:9999", strings.ToUpper(one), ""},
		{"another certificate", "game.example:9999", two, "the SHA-256 was " + one + " and is now " + two},
		{"another port is another server", "game.example:1", two, ""},
		{"an address", "[::ffff:127.0.0.1]:1", one, ""},
		{"the address in other words", "127.0.0.1:1", two, "remove the line of 127.0.0.1:1 from " + file},
	} {
		err := k.trust(tt.addr, tt.print)
		if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.fault)
		}
	}
	if len(told) != 3 || !strings.Contains(told[0], "game.example:9999 is new: its certificate, SHA-256 "+one) {
		t.Errorf("it has told %q", told)
	}
	text, err := os.ReadFile(file)
	if want := "game.example:9999 " + one + "\ngame.example:1 " + two + "\n127.0.0.1:1 " + one + "\n"; err != nil || string(text) != want {
		t.Errorf("the file has %q, %v; want %q", text, err, want)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("others may read or write it: %v, %v", info.Mode(), err)
	}
}

func TestAFileOfKnownServersThatIsNotOurs(t *testing.T) {
	print := strings.Repeat("0f", 32)
	for _, tt := range []struct{ name, text, fault string }{
		{"comments, blanks and colons", "# mine\r\n\n  a:1   " + strings.Repeat("0F:", 31) + "0f \r\n", ""},
		{"a last line that is open", "b:1 " + print, ""},
		{"a line of another kind", "a:1 " + print + "\nssh-rsa AAAA\n", ""}, // what is behind the line is not looked at
		{"a torn line", "b:1 " + print + "\na:1 0f0f\n", "line 2: it is not an address and a SHA-256 in hex"},
		{"too many", strings.Repeat("#", maxKnownBytes+1), "has more than 1048576 bytes"},
	} {
		file := filepath.Join(t.TempDir(), "known")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		k := knownServers{file: file}
		for range 2 {
			if err := k.trust("a:1", print); tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.fault)
			}
		}
	}
	if err := (&knownServers{}).trust("a:1", print); err == nil || !strings.Contains(err.Error(), "--known-servers") {
		t.Errorf("without a file: %v", err)
	}
	if err := (&knownServers{file: t.TempDir()}).trust("a:1", print); err == nil {
		t.Error("a folder is no file")
	}
}

// The certificate of another server at the same address: that is how somebody in between looks. The password does not get there.
func TestAPasswordIsNotSentToAChangedServer(t *testing.T) {
	t.Parallel()
	known := filepath.Join(t.TempDir(), "known_servers")
	_, addrs, _ := serveArena(t, func(c *front.Config) { c.RealmPlain = false })
	line := "join realm " + addrs["realm"] + " --name ann --password-stdin --known-servers " + known
	first := parley("correct horse\nquit\n", line)
	if first.status != exitOK || !strings.Contains(first.err, addrs["realm"]+" is new: its certificate, SHA-256 ") {
		t.Fatalf("%+v", first)
	}
	if again := parley("correct horse\nquit\n", line); again.status != exitOK || again.err != "" {
		t.Errorf("%+v", again)
	}
	text, err := os.ReadFile(known)
	if err != nil {
		t.Fatal(err)
	}
	right := strings.Fields(string(text))[1]
	if err := os.WriteFile(known, []byte(addrs["realm"]+" "+strings.Repeat("00", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The account has another password: had this one been sent, the server would say so.
	changed := parley("incorrect horse\n", line)
	if changed.status != exitFailed || !strings.Contains(changed.err, "its certificate has changed, so nothing was sent to it") || strings.Contains(changed.err, "password of") {
		t.Errorf("%+v", changed)
	}
	// A pinned certificate is all that counts, and the file is not looked at.
	if pinned := parley("correct horse\nquit\n", line+" --fingerprint "+strings.ToUpper(right)); pinned.status != exitOK {
		t.Errorf("%+v", pinned)
	}
	other := parley("incorrect horse\n", line+" --fingerprint "+strings.Repeat("00", 32))
	if other.status != exitFailed || !strings.Contains(other.err, "its certificate is not the one of --fingerprint, so nothing was sent to it: its SHA-256 is "+right) {
		t.Errorf("%+v", other)
	}
}

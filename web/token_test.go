package web

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A token is made once, for its owner alone, and is then the same.
func TestTheTokenIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := OperatorToken(dir)
	if err != nil || len(first) != 64 {
		t.Fatalf("the token is %q, %v", first, err)
	}
	info, err := os.Stat(filepath.Join(dir, TokenFile))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if again, err := OperatorToken(dir); err != nil || again != first {
		t.Errorf("the second time it is %q, %v", again, err)
	}
	other, err := OperatorToken(t.TempDir())
	if err != nil || other == first {
		t.Errorf("another folder has %q, %v", other, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("there are %v", left)
	}
}

// A file that others can read, or that has no token, is refused in a sentence that does not show it.
func TestBadTokenFiles(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		mode       os.FileMode
		want       string
	}{
		{"others can read it", strings.Repeat("ab", 32), 0o644, "has the mode 0644"},
		{"the group can read it", strings.Repeat("ab", 32), 0o640, "has the mode 0640"},
		{"it is empty", "", 0o600, "has no token"},
		{"it is short", strings.Repeat("ab", 31), 0o600, "has no token"},
		{"it is no hex", strings.Repeat("swordfish", 8), 0o600, "has no token"},
		{"it has two", strings.Repeat("ab", 32) + "\n" + strings.Repeat("ab", 32), 0o600, "has no token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && tt.mode != 0o600 {
				t.Skip("no such modes")
			}
			dir := t.TempDir()
			file := filepath.Join(dir, TokenFile)
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, tt.mode); err != nil {
				t.Fatal(err)
			}
			token, err := OperatorToken(dir)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "delete it") {
				t.Errorf("%q, %v", token, err)
			}
			if err != nil && (strings.Contains(err.Error(), "abab") || strings.Contains(err.Error(), "swordfish")) {
				t.Errorf("the error has the token: %v", err)
			}
		})
	}
	if _, err := OperatorToken(os.DevNull); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is none: %v", err)
	}
}

package parley

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley/play/gateway"
)

// The newest folders of what differed are kept, and nothing else is touched.
func TestDesyncFoldersAreBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), desyncDir)
	s := &desyncs{dir: dir, log: slog.New(slog.DiscardHandler)}
	if err := os.MkdirAll(filepath.Join(dir, "notes of mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for i := range 3 * maxDesyncs {
		s.write(gateway.Desync{Room: "main", Tick: uint64(i), Here: []byte("here"), Fields: []byte("x")})
		if err := os.Chtimes(filepath.Join(dir, fmt.Sprint("main-", i)), old, old.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != maxDesyncs+1 {
		t.Fatalf("%d folders, %v", len(list), err)
	}
	for i := 2 * maxDesyncs; i < 3*maxDesyncs; i++ {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("main-", i), "here.snapshot"))
		if err != nil || string(text) != "here" {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprint("main-", i), "there.snapshot")); !os.IsNotExist(err) {
			t.Errorf("a snapshot that has not come: %v", err)
		}
	}
}

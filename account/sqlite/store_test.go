package sqlite

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"parley/account"
	"parley/account/storetest"
)

// openNew opens a new file, and has the test close it.
func openNew(t testing.TB) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), FileName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) account.Store { return openNew(t) })
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

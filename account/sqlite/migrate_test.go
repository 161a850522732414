package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"

	"parley/account/storetest"
	"parley/internal/promise"
)

// T47: "migrations up/down/up".
func TestMigrationsUpDownUp(t *testing.T) {
	promise.Keeps(t, "T47", "sqlite", 1)
	path := filepath.Join(t.TempDir(), FileName)
	db, err := sql.Open("sqlite", dataSource(path, busyTimeout, false))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p, err := migrations(db)
	if err != nil {
		t.Fatal(err)
	}
	storetest.UpDownUp(t, p, db, "SELECT coalesce(sql, name) FROM sqlite_schema WHERE name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite_seq%' ORDER BY name", 3, func() error {
		s, err := Open(path)
		if err != nil {
			return err
		}
		return s.Close()
	})
}

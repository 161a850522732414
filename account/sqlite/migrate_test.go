package sqlite

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/promise"
)

// schema returns the statements that made the tables.
func schema(t *testing.T, db *sql.DB) (statements []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT coalesce(sql, name) FROM sqlite_schema WHERE name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite_seq%' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		statements = append(statements, s)
	}
	return statements
}

// T47: "migrations up/down/up".
func TestMigrationsUpDownUp(t *testing.T) {
	promise.Keeps(t, "T47", "sqlite", 1)
	db, err := sql.Open("sqlite", dataSource(filepath.Join(t.TempDir(), FileName), busyTimeout, false))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p, err := provider(db)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	up := schema(t, db)
	if len(up) < 3 {
		t.Fatalf("the tables are %q", up)
	}
	// Each migration alone, down and up again, and then all.
	for range p.ListSources() {
		if _, err := p.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if down := schema(t, db); len(down) != 0 {
		t.Errorf("all the way down there is still %q", down)
	}
	for range p.ListSources() {
		if _, err := p.UpByOne(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if again := schema(t, db); !slices.Equal(up, again) {
		t.Errorf("up is %q, and again %q", up, again)
	}
	if err := migrate(t.Context(), db); err != nil {
		t.Error(err)
	}
}

func TestTablesOfANewerProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	err = s.writer.do(t.Context(), func(p *pen) error {
		return p.change("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(path); err == nil || !strings.Contains(err.Error(), "use a newer one") {
		t.Errorf("%v, %v", s, err)
	}
}

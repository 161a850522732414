package storetest

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"
)

// UpDownUp applies and undoes all migrations of an empty database. query returns a row for each thing of the schema, of which
// there are at least so many. open opens and closes a store in that database.
func UpDownUp(t *testing.T, p *goose.Provider, db *sql.DB, query string, least int, open func() error) {
	t.Helper()
	each := func(step func() error) {
		for range p.ListSources() {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	up := schema(t, db, query)
	if len(up) < least {
		t.Fatalf("the tables are %q", up)
	}
	each(func() error { _, err := p.Down(t.Context()); return err })
	if down := schema(t, db, query); len(down) != 0 {
		t.Errorf("all the way down there is still %q", down)
	}
	each(func() error { _, err := p.UpByOne(t.Context()); return err })
	if again := schema(t, db, query); !slices.Equal(up, again) {
		t.Errorf("up is %q, and again %q", up, again)
	}
	if err := open(); err != nil {
		t.Error(err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)"); err != nil {
		t.Fatal(err)
	}
	if err := open(); err == nil || !strings.Contains(err.Error(), "use a newer one") {
		t.Errorf("tables of a newer program: %v", err)
	}
}

func schema(t *testing.T, db *sql.DB, query string) (found []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		found = append(found, s)
	}
	return found
}

package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrateTries is how often the tables are tried to be made. Two processes that open a new file at once may
// both find it empty; the second then fails, and finds it full at its next try.
const migrateTries = 5

// migrate brings the tables up to date.
func migrate(ctx context.Context, db *sql.DB) error {
	p, err := provider(db)
	if err != nil {
		return err
	}
	for range migrateTries {
		if _, err = p.Up(ctx); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("cannot make the tables: %w", err)
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if have > want {
		return fmt.Errorf("the tables are of version %d, and this program knows them up to %d only: use a newer one", have, want)
	}
	return nil
}

func provider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
}

package sqlite

import (
	"context"
	"database/sql"
	"embed"

	"github.com/pressly/goose/v3"

	"parley/account/internal/sqlstore"
)

//go:embed migrations/*.sql
var files embed.FS

// migrateTries is how often the tables are tried to be made. Two processes that open a new file at once may
// both find it empty; the second then fails, and finds it full at its next try.
const migrateTries = 5

// migrate brings the tables up to date.
func migrate(ctx context.Context, db *sql.DB) error {
	p, err := migrations(db)
	if err != nil {
		return err
	}
	return sqlstore.Migrate(ctx, p, migrateTries)
}

func migrations(db *sql.DB) (*goose.Provider, error) {
	return sqlstore.Migrations(goose.DialectSQLite3, db, files)
}

package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"parley/account/internal/sqlstore"
)

//go:embed migrations/*.sql
var files embed.FS

// migrate brings the tables up to date.
func migrate(ctx context.Context, config *pgx.ConnConfig) (err error) {
	db := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := migrations(db)
	if err != nil {
		return err
	}
	return sqlstore.Migrate(ctx, p, 1)
}

func migrations(db *sql.DB) (*goose.Provider, error) {
	// Two servers that start at once would both make the tables.
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, err
	}
	return sqlstore.Migrations(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
}

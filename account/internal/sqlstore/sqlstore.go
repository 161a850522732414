// Package sqlstore is what the stores of accounts in SQL databases share: columns, errors and migrations.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"

	"parley/account"
)

// Columns are what a store reads of an account.
const Columns = `id, name, key, password, created_at, last_login, banned_at, banned_until, ban_reason`

// BanColumns returns banned_at, banned_until and ban_reason. stored is a time as the database has it.
func BanColumns[T any](b account.Ban, stored func(time.Time) T) []any {
	if b.Since.IsZero() {
		return []any{nil, nil, ""}
	}
	return []any{stored(b.Since), stored(b.Until), b.Reason}
}

// Wrap says what failed, but leaves the errors of account as they are.
func Wrap(what string, err error) error {
	if err == nil || errors.Is(err, account.ErrTaken) || errors.Is(err, account.ErrNotFound) {
		return err
	}
	return fmt.Errorf("account: %s: %w", what, err)
}

// Migrations returns the migrations in the folder migrations of files, ready to be applied to a database.
func Migrations(dialect goose.Dialect, db *sql.DB, files fs.FS, options ...goose.ProviderOption) (*goose.Provider, error) {
	files, err := fs.Sub(files, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(dialect, db, files, append(options, goose.WithDisableGlobalRegistry(true))...)
}

// Migrate brings the tables up to date. It tries that several times, if asked to.
func Migrate(ctx context.Context, p *goose.Provider, tries int) (err error) {
	for range tries {
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

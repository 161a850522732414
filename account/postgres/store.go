package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"parley/account"
	"parley/account/internal/sqlstore"
)

// uniqueViolation is PostgreSQL's code for a row that there is already.
const uniqueViolation = "23505"

// A Store keeps accounts in a PostgreSQL database. It is an account.Store.
type Store struct {
	pool *pgxpool.Pool
}

var _ account.Store = (*Store)(nil)

// Open connects to a database, given as a URL or as key=value pairs, and creates the tables if they do not
// exist.
func Open(ctx context.Context, dsn string) (*Store, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("account: %w", err)
	}
	return open(ctx, config)
}

func open(ctx context.Context, config *pgxpool.Config) (*Store, error) {
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`)
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("account: open: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("account: open: %w", err)
	}
	if err := migrate(ctx, config.ConnConfig); err != nil {
		pool.Close()
		return nil, fmt.Errorf("account: open: %w", err)
	}
	return &Store{pool}, nil
}

// Close implements account.Store.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// Create implements account.Store.
func (s *Store) Create(ctx context.Context, r account.Record) (account.Record, error) {
	if err := account.CheckText(r.Name, r.Key, r.Hash, r.Ban.Reason); err != nil {
		return account.Record{}, err
	}
	rows, err := s.pool.Query(ctx, `INSERT INTO accounts
		(name, key, password, created_at, last_login, banned_at, banned_until, ban_reason)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING `+sqlstore.Columns,
		append([]any{r.Name, r.Key, r.Hash, r.Created.Truncate(time.Microsecond), stored(r.LastLogin)}, sqlstore.BanColumns(r.Ban, stored)...)...)
	if err == nil {
		r, err = pgx.CollectExactlyOneRow(rows, scan)
	}
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == uniqueViolation {
		return account.Record{}, account.ErrTaken
	}
	if err != nil {
		return account.Record{}, sqlstore.Wrap("create", err)
	}
	return r, nil
}

// Find implements account.Store.
func (s *Store) Find(ctx context.Context, key string) (account.Record, error) {
	if account.CheckText(key) != nil {
		return account.Record{}, account.ErrNotFound // no account can have it
	}
	records, err := s.query(ctx, `SELECT `+sqlstore.Columns+` FROM accounts WHERE key = $1`, key)
	switch {
	case err != nil:
		return account.Record{}, sqlstore.Wrap("find", err)
	case len(records) == 0:
		return account.Record{}, account.ErrNotFound
	}
	return records[0], nil
}

// Ousted implements account.Store.
func (s *Store) Ousted(ctx context.Context, ids []account.ID, now time.Time) (banned, deleted []account.ID, err error) {
	rows, err := s.pool.Query(ctx, `SELECT DISTINCT asked, id IS NULL FROM unnest($1::bigint[]) asked LEFT JOIN accounts ON id = asked
		WHERE id IS NULL OR banned_at IS NOT NULL AND (banned_until IS NULL OR banned_until > $2) ORDER BY asked`, ids, now.Truncate(time.Microsecond))
	if err != nil {
		return nil, nil, sqlstore.Wrap("ousted", err)
	}
	var id account.ID
	var gone bool
	_, err = pgx.ForEachRow(rows, []any{&id, &gone}, func() error {
		if gone {
			deleted = append(deleted, id)
		} else {
			banned = append(banned, id)
		}
		return nil
	})
	return banned, deleted, sqlstore.Wrap("ousted", err)
}

// List implements account.Store.
func (s *Store) List(ctx context.Context, after string, limit int) ([]account.Record, error) {
	if err := account.CheckText(after); err != nil {
		return nil, err
	}
	records, err := s.query(ctx, `SELECT `+sqlstore.Columns+` FROM accounts WHERE key > $1 ORDER BY key LIMIT $2`, after, max(0, min(limit, account.MaxList)))
	return records, sqlstore.Wrap("list", err)
}

// SetPassword implements account.Store.
func (s *Store) SetPassword(ctx context.Context, id account.ID, hash string) error {
	if err := account.CheckText(hash); err != nil {
		return err
	}
	return sqlstore.Wrap("set password", pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := changeOne(ctx, tx, `UPDATE accounts SET password = $1 WHERE id = $2`, hash, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM known_addresses WHERE account = $1`, id)
		return err
	}))
}

// SetBan implements account.Store.
func (s *Store) SetBan(ctx context.Context, id account.ID, b account.Ban) error {
	if err := account.CheckText(b.Reason); err != nil {
		return err
	}
	return sqlstore.Wrap("set ban", changeOne(ctx, s.pool,
		`UPDATE accounts SET banned_at = $1, banned_until = $2, ban_reason = $3 WHERE id = $4`, append(sqlstore.BanColumns(b, stored), id)...))
}

// Enter implements account.Store. It locks the account's row first, so two calls at once cannot both count
// its addresses.
func (s *Store) Enter(ctx context.Context, id account.ID, v account.Visit) error {
	at, forget := v.At.Truncate(time.Microsecond), v.Forget.Truncate(time.Microsecond)
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := changeOne(ctx, tx, `UPDATE accounts SET last_login = $1 WHERE id = $2`, stored(v.At), id); err != nil || !v.From.IsValid() {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO known_addresses (account, address, seen_at) VALUES ($1, $2, $3)
			ON CONFLICT (account, address) DO UPDATE SET seen_at = excluded.seen_at`, id, v.From.String(), at); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM known_addresses WHERE account = $1 AND address NOT IN
			(SELECT address FROM known_addresses WHERE account = $1 ORDER BY seen_at DESC, address DESC LIMIT $2)`, id, account.MaxKnown)
		return err
	})
	if err != nil {
		return sqlstore.Wrap("enter", err)
	}
	// Of all accounts, so not in the transaction that holds one account's lock: two that forget each other's
	// addresses would wait for each other. Rows that another is at are left to it.
	_, err = s.pool.Exec(ctx, `DELETE FROM known_addresses WHERE (account, address) IN
		(SELECT account, address FROM known_addresses WHERE seen_at < $1 FOR UPDATE SKIP LOCKED)`, forget)
	return sqlstore.Wrap("enter", err)
}

// Known implements account.Store.
func (s *Store) Known(ctx context.Context, id account.ID, from netip.Prefix) (time.Time, error) {
	var seen time.Time
	err := s.pool.QueryRow(ctx, `SELECT seen_at FROM known_addresses WHERE account = $1 AND address = $2`, id, from.String()).Scan(&seen)
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, sqlstore.Wrap("known", err)
	}
	return seen.UTC(), nil
}

// Delete implements account.Store.
func (s *Store) Delete(ctx context.Context, id account.ID) error {
	return sqlstore.Wrap("delete", changeOne(ctx, s.pool, `DELETE FROM accounts WHERE id = $1`, id))
}

// changeOne returns ErrNotFound if there was nothing to change.
func changeOne(ctx context.Context, db interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
}, query string, args ...any) error {
	tag, err := db.Exec(ctx, query, args...)
	if err == nil && tag.RowsAffected() == 0 {
		return account.ErrNotFound
	}
	return err
}

func scan(row pgx.CollectableRow) (account.Record, error) {
	var r account.Record
	var login, since, until *time.Time
	err := row.Scan(&r.ID, &r.Name, &r.Key, &r.Hash, &r.Created, &login, &since, &until, &r.Ban.Reason)
	r.Created = r.Created.UTC()
	r.LastLogin, r.Ban.Since, r.Ban.Until = timeOf(login), timeOf(since), timeOf(until)
	return r, err
}

func (s *Store) query(ctx context.Context, query string, args ...any) ([]account.Record, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// stored is a time as it is stored, to the microsecond; the zero time is NULL.
func stored(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Truncate(time.Microsecond)
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/account"
	"parley/account/internal/sqlstore"
)

// FileName is the name of the accounts file in a data folder.
const FileName = "accounts.db"

const (
	// busyTimeout is how long one process waits for another to end its transaction.
	busyTimeout = 5 * time.Second

	// readConns is how many reads go on at once.
	readConns = 4
)

// A Store keeps accounts in a file. It is an account.Store.
type Store struct {
	reads  *sql.DB
	writes *sql.DB // of one connection, which the writer has
	writer *writer

	find, ousted, list, known *sql.Stmt // of reads
}

var _ account.Store = (*Store)(nil)

// Open opens a file of accounts, and creates it if it does not exist. The directory must exist.
func Open(path string) (*Store, error) { return open(path, busyTimeout) }

// OpenIn opens the file FileName in a directory, and creates both if they do not exist. It is for
// parley.Config.Accounts.
func OpenIn(dir string) (account.Store, error) {
	// It will hold hashes of passwords, and perhaps keys.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("account: the data folder: %w", err)
	}
	s, err := Open(filepath.Join(dir, FileName))
	if err != nil {
		return nil, err // not s, which would be a store that is not nil
	}
	return s, nil
}

func open(path string, busy time.Duration) (*Store, error) {
	s, err := openFile(path, busy)
	if err != nil {
		return nil, fmt.Errorf("account: open %s: %w", path, err)
	}
	return s, nil
}

func openFile(path string, busy time.Duration) (*Store, error) {
	// SQLite would make it readable for everyone. The files that it puts beside it get the same mode.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	ctx := context.Background()
	s := &Store{}
	if s.writes, err = sql.Open("sqlite", dataSource(path, busy, false)); err != nil {
		return nil, err
	}
	s.writes.SetMaxOpenConns(1)
	if err := migrate(ctx, s.writes); err != nil {
		return nil, errors.Join(err, s.writes.Close())
	}
	conn, err := s.writes.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, s.writes.Close())
	}
	if s.reads, err = sql.Open("sqlite", dataSource(path, busy, true)); err != nil {
		return nil, errors.Join(err, conn.Close(), s.writes.Close())
	}
	s.reads.SetMaxOpenConns(readConns)
	s.reads.SetMaxIdleConns(readConns)
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.reads.Close(), conn.Close(), s.writes.Close())
	}
	s.writer = startWriter(conn)
	return s, nil
}

// prepare has SQLite read what is asked over and over, once for each connection.
func (s *Store) prepare(ctx context.Context) (err error) {
	for _, q := range []struct {
		stmt  **sql.Stmt
		query string
	}{
		{&s.find, `SELECT ` + sqlstore.Columns + ` FROM accounts WHERE key = ?`},
		{&s.ousted, `SELECT DISTINCT value, a.id IS NULL FROM json_each(?) LEFT JOIN accounts a ON a.id = value
			WHERE a.id IS NULL OR banned_at IS NOT NULL AND (banned_until IS NULL OR banned_until > ?) ORDER BY value`},
		{&s.list, `SELECT ` + sqlstore.Columns + ` FROM accounts WHERE key > ? ORDER BY key LIMIT ?`},
		{&s.known, `SELECT seen_at FROM known_addresses WHERE account = ? AND address = ?`},
	} {
		if *q.stmt, err = s.reads.PrepareContext(ctx, q.query); err != nil {
			return err
		}
	}
	return nil
}

// dataSource writes what the driver wants to know.
func dataSource(path string, busy time.Duration, readOnly bool) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	if abs = filepath.ToSlash(abs); !strings.HasPrefix(abs, "/") {
		abs = "/" + abs // C:/… on Windows
	}
	options := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()),
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
	}}
	if readOnly {
		options.Add("_pragma", "query_only(1)")
	} else {
		// A migration that reads before it writes would otherwise fail at once if another process writes in between.
		options.Set("_txlock", "immediate")
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: abs, RawQuery: options.Encode()}
	return u.String()
}

// Close implements account.Store.
func (s *Store) Close() error {
	// The writer's connection goes last, as the last one to go tidies the log away.
	return errors.Join(s.reads.Close(), s.writer.close(), s.writes.Close())
}

// Create implements account.Store.
func (s *Store) Create(ctx context.Context, r account.Record) (account.Record, error) {
	if err := account.CheckText(r.Name, r.Key, r.Hash, r.Ban.Reason); err != nil {
		return account.Record{}, err
	}
	var made account.Record
	err := s.do(ctx, "create", func(p *pen) error {
		insert, err := p.prepared(`INSERT INTO accounts (name, key, password, created_at, last_login, banned_at, banned_until, ban_reason)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING ` + sqlstore.Columns)
		if err != nil {
			return err
		}
		row := insert.QueryRowContext(context.Background(),
			append([]any{r.Name, r.Key, r.Hash, r.Created.UnixMicro(), micros(r.LastLogin)}, sqlstore.BanColumns(r.Ban, micros)...)...)
		if made, err = scan(row); isUnique(err) {
			return account.ErrTaken
		}
		return err
	})
	if err != nil {
		return account.Record{}, err
	}
	return made, nil
}

// SetPassword implements account.Store.
func (s *Store) SetPassword(ctx context.Context, id account.ID, hash string) error {
	if err := account.CheckText(hash); err != nil {
		return err
	}
	return s.do(ctx, "set password", func(p *pen) error {
		if err := p.changeOne(`UPDATE accounts SET password = ? WHERE id = ?`, hash, id); err != nil {
			return err
		}
		return p.change(`DELETE FROM known_addresses WHERE account = ?`, id)
	})
}

// SetBan implements account.Store.
func (s *Store) SetBan(ctx context.Context, id account.ID, b account.Ban) error {
	if err := account.CheckText(b.Reason); err != nil {
		return err
	}
	return s.do(ctx, "set ban", func(p *pen) error {
		return p.changeOne(`UPDATE accounts SET banned_at = ?, banned_until = ?, ban_reason = ? WHERE id = ?`, append(sqlstore.BanColumns(b, micros), id)...)
	})
}

// Enter implements account.Store.
func (s *Store) Enter(ctx context.Context, id account.ID, v account.Visit) error {
	return s.do(ctx, "enter", func(p *pen) error {
		err := p.changeOne(`UPDATE accounts SET last_login = ? WHERE id = ?`, micros(v.At), id)
		if err == nil {
			err = p.change(`DELETE FROM known_addresses WHERE seen_at < ?`, v.Forget.UnixMicro())
		}
		if err != nil || !v.From.IsValid() {
			return err
		}
		if err := p.change(`INSERT INTO known_addresses (account, address, seen_at) VALUES (?, ?, ?)
			ON CONFLICT (account, address) DO UPDATE SET seen_at = excluded.seen_at`, id, v.From.String(), v.At.UnixMicro()); err != nil {
			return err
		}
		return p.change(`DELETE FROM known_addresses WHERE account = ?1 AND address NOT IN
			(SELECT address FROM known_addresses WHERE account = ?1 ORDER BY seen_at DESC, address DESC LIMIT ?2)`, id, account.MaxKnown)
	})
}

// Delete implements account.Store.
func (s *Store) Delete(ctx context.Context, id account.ID) error {
	return s.do(ctx, "delete", func(p *pen) error { return p.changeOne(`DELETE FROM accounts WHERE id = ?`, id) })
}

// Find implements account.Store.
func (s *Store) Find(ctx context.Context, key string) (account.Record, error) {
	r, err := scan(s.find.QueryRowContext(ctx, key))
	if errors.Is(err, sql.ErrNoRows) {
		return account.Record{}, account.ErrNotFound
	}
	return r, sqlstore.Wrap("find", err)
}

// Ousted implements account.Store.
func (s *Store) Ousted(ctx context.Context, ids []account.ID, now time.Time) (banned, deleted []account.ID, err error) {
	if len(ids) == 0 {
		return nil, nil, nil // no list is null, which SQLite reads as one value
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, nil, sqlstore.Wrap("ousted", err)
	}
	rows, err := s.ousted.QueryContext(ctx, string(list), now.UnixMicro())
	if err != nil {
		return nil, nil, sqlstore.Wrap("ousted", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id account.ID
		var gone bool
		if err := rows.Scan(&id, &gone); err != nil {
			return nil, nil, sqlstore.Wrap("ousted", err)
		}
		if gone {
			deleted = append(deleted, id)
		} else {
			banned = append(banned, id)
		}
	}
	return banned, deleted, sqlstore.Wrap("ousted", rows.Err())
}

// List implements account.Store.
func (s *Store) List(ctx context.Context, after string, limit int) ([]account.Record, error) {
	if err := account.CheckText(after); err != nil {
		return nil, err
	}
	records, err := readAll(s.list.QueryContext(ctx, after, max(0, min(limit, account.MaxList))))
	return records, sqlstore.Wrap("list", err)
}

// Known implements account.Store.
func (s *Store) Known(ctx context.Context, id account.ID, from netip.Prefix) (time.Time, error) {
	var seen int64
	err := s.known.QueryRowContext(ctx, id, from.String()).Scan(&seen)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, sqlstore.Wrap("known", err)
	}
	return time.UnixMicro(seen).UTC(), nil
}

func (s *Store) do(ctx context.Context, what string, f func(*pen) error) error {
	return sqlstore.Wrap(what, s.writer.do(ctx, f))
}

func scan(row interface{ Scan(...any) error }) (account.Record, error) {
	var r account.Record
	var created int64
	var login, since, until sql.NullInt64
	if err := row.Scan(&r.ID, &r.Name, &r.Key, &r.Hash, &created, &login, &since, &until, &r.Ban.Reason); err != nil {
		return account.Record{}, err
	}
	r.Created = time.UnixMicro(created).UTC()
	r.LastLogin, r.Ban.Since, r.Ban.Until = timeOf(login), timeOf(since), timeOf(until)
	return r, nil
}

// readAll reads what a query returned.
func readAll(rows *sql.Rows, err error) ([]account.Record, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var records []account.Record
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, rows.Err()
}

// micros is a time as it is stored; the zero time is NULL.
func micros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

func timeOf(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMicro(n.Int64).UTC()
}

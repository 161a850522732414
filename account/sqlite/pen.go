package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"parley/account"
)

// A pen is the connection that the writer writes with, and the statements that it has prepared: SQLite takes longer to
// read the text of one than to do it. There are as many as there are texts in this package. It is the writer's alone.
type pen struct {
	*sql.Conn
	stmts map[string]*sql.Stmt
}

func (p *pen) prepared(query string) (*sql.Stmt, error) {
	if s := p.stmts[query]; s != nil {
		return s, nil
	}
	s, err := p.PrepareContext(context.Background(), query)
	if err == nil {
		p.stmts[query] = s
	}
	return s, err
}

// close closes the statements and the connection: with one that is open, SQLite would keep the file and its log.
func (p *pen) close() error {
	var err error
	for _, s := range p.stmts {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, p.Conn.Close())
}

func (p *pen) exec(query string, args ...any) (sql.Result, error) {
	s, err := p.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.Background(), args...)
}

func (p *pen) change(query string, args ...any) error {
	_, err := p.exec(query, args...)
	return err
}

// changeOne returns ErrNotFound if there was nothing to change.
func (p *pen) changeOne(query string, args ...any) error {
	result, err := p.exec(query, args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return account.ErrNotFound
}

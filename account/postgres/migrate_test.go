package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"parley/account"
	"parley/account/storetest"
	"parley/internal/patient"
	"parley/internal/promise"
)

// schema returns the columns and indexes that there are.
const schema = `
	SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '')
		FROM information_schema.columns WHERE table_schema = current_schema() AND table_name NOT LIKE 'goose%'
	UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() AND tablename NOT LIKE 'goose%' ORDER BY 1`

// T47: "migrations up/down/up".
func TestMigrationsUpDownUp(t *testing.T) {
	promise.Keeps(t, "T47", "postgres", 1)
	config := newConfig(t)
	db := stdlib.OpenDB(*config.ConnConfig)
	defer db.Close()
	p, err := migrations(db)
	if err != nil {
		t.Fatal(err)
	}
	storetest.UpDownUp(t, p, db, schema, 12, func() error {
		s, err := open(t.Context(), config.Copy())
		if err != nil {
			return err
		}
		return s.Close()
	})
}

// Several servers that start at once on an empty database.
func TestManyOpenANewDatabase(t *testing.T) {
	config := newConfig(t)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			s, err := open(context.Background(), config.Copy())
			if err != nil {
				t.Errorf("number %d: %v", i, err)
				return
			}
			defer s.Close()
			if _, err := s.Create(context.Background(), record(fmt.Sprint("player", i))); err != nil {
				t.Errorf("number %d: %v", i, err)
			}
		})
	}
	patient.Done(group.Wait)
}

func record(name string) account.Record {
	return account.Record{Account: account.Account{Name: name, Created: time.Now()}, Key: name, Hash: "hash"}
}

// The server of .ci/postgres has synchronous_commit=off, which would answer before anything is on disk.
func TestCommitsAreSynchronous(t *testing.T) {
	s := openNew(t)
	var got string
	if err := s.pool.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&got); err != nil || got == "off" {
		t.Errorf("synchronous_commit is %s, %v", got, err)
	}
	config := newConfig(t)
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	off, err := open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer off.Close()
	if err := off.pool.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&got); err != nil || got != "on" {
		t.Errorf("synchronous_commit is %s, %v", got, err)
	}
}

// Connections that the server ends are replaced.
func TestLostConnections(t *testing.T) {
	s := openNew(t)
	ann, err := s.Create(t.Context(), record("ann"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND application_name = current_setting('application_name') AND backend_type = 'client backend'`); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for range 10 {
		r, err := s.Find(t.Context(), "ann")
		if err != nil {
			failed++
		} else if r.ID != ann.ID {
			t.Errorf("found %+v", r)
		}
	}
	if failed > 5 {
		t.Errorf("%d of 10 reads failed after the connections were lost", failed)
	}
}

func TestOpenErrors(t *testing.T) {
	for _, dsn := range []string{"host=/nowhere user=parley", "postgres://%zz", "no such thing"} {
		s, err := Open(t.Context(), dsn)
		if err == nil || !strings.HasPrefix(err.Error(), "account: ") {
			t.Errorf("%q: %v, %v", dsn, s, err)
		}
		t.Log(err)
	}
}

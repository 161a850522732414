package postgres

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"parley/account"
	"parley/account/storetest"
	"parley/internal/promise"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// variable has the DSN of a server that the tests may make schemas in.
const variable = "PARLEY_POSTGRES"

var schemas atomic.Int64

// newConfig returns how to reach a new schema, which the test removes again.
func newConfig(t testing.TB) *pgxpool.Config {
	t.Helper()
	dsn := os.Getenv(variable)
	if dsn == "" {
		t.Skipf("not tested against PostgreSQL, as %s names no server; \".ci/postgres run go test ./account/...\" starts one", variable)
	}
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	schema := fmt.Sprintf("parley_test_%d_%d", time.Now().UnixNano(), schemas.Add(1))
	run := func(sql string) {
		c, err := pgx.ConnectConfig(ctx, config.ConnConfig.Copy())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		if _, err := c.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE SCHEMA " + schema)
	t.Cleanup(func() { run("DROP SCHEMA " + schema + " CASCADE") })
	mine := config.Copy()
	mine.ConnConfig.RuntimeParams["search_path"] = schema
	return mine
}

func openNew(t testing.TB) *Store {
	t.Helper()
	s, err := open(context.Background(), newConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	newConfig(t) // skips once, and not once for each test of the suite
	promise.Keeps(t, "T47", "postgres", storetest.Sequences())
	storetest.Run(t, func(t *testing.T) account.Store { return openNew(t) })
}

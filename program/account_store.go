package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"parley/account"
	"parley/account/postgres"
	"parley/account/sqlite"
)

const (
	// defaultData is the directory of what a server keeps, below the one that it is started in.
	defaultData = "parley-data"

	// connectTimeout is how long a database may take to answer at all.
	connectTimeout = 10 * time.Second
)

// accountFlags say where the accounts are.
type accountFlags struct {
	app            *app
	data, postgres string
}

func (f *accountFlags) register(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&f.data, "data", defaultData, "the folder that has "+sqlite.FileName)
	cmd.PersistentFlags().StringVar(&f.postgres, "postgres", "", "use this PostgreSQL database instead: a URL, or key=value pairs. "+
		"Other users of the machine can see the command line, so give the password in PGPASSWORD or ~/.pgpass")
}

// open opens the store. Only if mayCreate is true, one is made in a directory that has none.
func (f *accountFlags) open(cmd *cobra.Command, mayCreate bool) (account.Store, error) {
	if f.postgres != "" {
		if cmd.Flags().Changed("data") {
			return nil, errors.New("--data and --postgres are two places for accounts; give one of them")
		}
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		defer cancel()
		store, err := postgres.Open(ctx, f.postgres)
		if err != nil {
			return nil, failure{err}
		}
		return store, nil
	}
	if _, err := os.Stat(filepath.Join(f.data, sqlite.FileName)); errors.Is(err, os.ErrNotExist) && !mayCreate {
		return nil, failure{fmt.Errorf("there are no accounts in %q; \"%s account add\" makes the first, and --data names another folder", f.data, f.app.name)}
	}
	store, err := sqlite.OpenIn(f.data)
	if err != nil {
		return nil, failure{err}
	}
	return store, nil
}

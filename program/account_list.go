package program

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"parley/account"
)

// accountShown is an account as JSON. Times are in RFC 3339; what there is none of is left out.
type accountShown struct {
	ID        account.ID `json:"id"`
	Name      string     `json:"name"`
	Created   time.Time  `json:"created"`
	LastLogin time.Time  `json:"lastLogin,omitzero"`
	Ban       *banShown  `json:"ban,omitempty"` // also one that has ended
}

type banShown struct {
	Holds  bool      `json:"holds"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until,omitzero"`
	Reason string    `json:"reason"`
}

func newAccountList(where *accountFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show the accounts, sorted by name",
		Long: `List shows the accounts, sorted by name. Times are in UTC. With --json it prints
one JSON object a line.`,
		Example: `  parley account list
  parley account list --json | jq -r 'select(.ban.holds) | .name'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := where.open(cmd, false)
			if err != nil {
				return err
			}
			defer store.Close()
			if asJSON {
				return eachAccount(store, func(a account.Account) error { return writeAccountJSON(cmd.OutOrStdout(), a, time.Now()) })
			}
			return writeAccountTable(cmd.OutOrStdout(), store)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// eachAccount calls f for all accounts, a page at a time: there may be millions.
func eachAccount(store account.Store, f func(account.Account) error) error {
	for after := ""; ; {
		page, err := store.List(context.Background(), after, account.MaxList)
		if err != nil {
			return failure{err}
		}
		for _, r := range page {
			if err := f(r.Account); err != nil {
				return err
			}
			after = r.Key
		}
		if len(page) < account.MaxList {
			return nil
		}
	}
}

func writeAccountJSON(w io.Writer, a account.Account, now time.Time) error {
	shown := accountShown{ID: a.ID, Name: a.Name, Created: a.Created, LastLogin: a.LastLogin}
	if !a.Ban.Since.IsZero() {
		shown.Ban = &banShown{Holds: a.Ban.Holds(now), Since: a.Ban.Since, Until: a.Ban.Until, Reason: a.Ban.Reason}
	}
	return printJSON(w, shown)
}

func writeAccountTable(w io.Writer, store account.Store) error {
	table, n, now := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), 0, time.Now()
	fmt.Fprintln(table, "ID\tNAME\tCREATED\tLAST LOG-IN\tBANNED")
	err := eachAccount(store, func(a account.Account) error {
		n++
		login, ban := "never", ""
		if !a.LastLogin.IsZero() {
			login = shownTime(a.LastLogin)
		}
		if a.Ban.Holds(now) {
			ban = banEnd(a.Ban)
			if a.Ban.Reason != "" {
				ban += fmt.Sprintf(": %q", a.Ban.Reason) // it may hold what a terminal obeys
			}
		}
		_, err := fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\n", a.ID, a.Name, shownTime(a.Created), login, ban)
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(w, "there are no accounts")
		return nil
	}
	return table.Flush()
}

func shownTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// banEnd says how long a ban lasts.
func banEnd(b account.Ban) string {
	if b.Until.IsZero() {
		return "for ever"
	}
	return "until " + shownTime(b.Until)
}

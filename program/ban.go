package program

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	front "parley"
	"parley/web"
)

func (a *app) newBan() *cobra.Command {
	f := remoteFlags{app: a}
	var ban web.Ban
	var forTime time.Duration
	cmd := &cobra.Command{
		Use:   "ban ADDRESS|PREFIX|ACCOUNT",
		Short: "Ban an address, a prefix or an account on a running server",
		Long: `Ban keeps an IP address, a prefix of addresses or an account of realm out of a
running server, in all dialects and rooms. Players whom it concerns are removed
and told why. Bans outlive the server. Anything
that does not look like an address is the name of an account.`,
		Example: `  parley ban 203.0.113.7 --for 1h --reason "be kind"
  parley ban 203.0.113.0/24
  parley ban eve
  parley ban list
  parley ban lift 203.0.113.7`,
		Args: takesBanned(&ban.Account),
		RunE: func(cmd *cobra.Command, args []string) error {
			ban.Banned = bannedOf(ban.Account, args)
			if cmd.Flags().Changed("for") {
				if forTime <= 0 {
					return fmt.Errorf("--for is %v; give a time such as 1h, or leave it out for ever", forTime)
				}
				ban.Until = new(time.Now().Add(forTime).UTC().Truncate(time.Second))
			}
			var made web.Ban
			if err := f.call(cmd.Context(), http.MethodPost, "/v1/bans", ban, &made); err != nil {
				return err
			}
			return f.print(cmd, made, func(w io.Writer) { banTable(w, []web.Ban{made}) })
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&ban.Account, "account", "", "ban this account, whatever its name looks like")
	cmd.Flags().DurationVar(&forTime, "for", 0, "how long the ban lasts (default for ever)")
	cmd.Flags().StringVar(&ban.Reason, "reason", "", "what players are told whom the ban removes")
	cmd.AddCommand(a.newBanList(), a.newBanLift())
	return cmd
}

func (a *app) newBanList() *cobra.Command {
	f := remoteFlags{app: a}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all bans",
		Example: `  parley ban list`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list web.Bans
			if err := f.call(cmd.Context(), http.MethodGet, "/v1/bans", nil, &list); err != nil {
				return err
			}
			return f.print(cmd, list, func(w io.Writer) { banTable(w, list.Bans) })
		},
	}
	f.register(cmd)
	return cmd
}

func (a *app) newBanLift() *cobra.Command {
	f := remoteFlags{app: a}
	var account string
	cmd := &cobra.Command{
		Use:   "lift ADDRESS|PREFIX|ACCOUNT",
		Short: "Lift a ban",
		Example: `  parley ban lift 203.0.113.0/24
  parley ban lift eve`,
		Args: takesBanned(&account),
		RunE: func(cmd *cobra.Command, args []string) error {
			who := bannedOf(account, args)
			if err := f.call(cmd.Context(), http.MethodDelete, "/v1/bans", who, nil); err != nil {
				return err
			}
			return f.done(cmd, "lifted the ban of %s", who.Address+who.Account)
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&account, "account", "", "lift the ban of this account, whatever its name looks like")
	return cmd
}

// takesBanned is the Args of a command that takes an address, a prefix or an account, or --account.
func takesBanned(account *string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case *account != "" && len(args) > 0:
			return errors.New("--account names who is meant; leave out the other")
		case *account == "" && len(args) != 1:
			return fmt.Errorf("%q takes one address, prefix or account; it was given %d", cmd.CommandPath(), len(args))
		case *account == "" && bannedOf("", args).Address == "" && addressLike(args[0]):
			return fmt.Errorf("%q is no address and no prefix; write 203.0.113.7, 203.0.113.0/24 or 2001:db8::/56, and an account of that name with --account", args[0])
		}
		return nil
	}
}

// bannedOf returns whom an argument means.
func bannedOf(account string, args []string) web.Banned {
	if account != "" {
		return web.Banned{Account: account}
	}
	if _, err := front.ParsePrefix(args[0]); err == nil {
		return web.Banned{Address: args[0]}
	}
	return web.Banned{Account: args[0]}
}

// addressLike reports whether a text that is no address was probably meant to be one: a moderator who mistypes a prefix should
// not be told that there is no such account.
func addressLike(text string) bool {
	return strings.ContainsAny(text, "/:") || strings.Contains(text, ".") && strings.Trim(text, "0123456789.") == ""
}

func banTable(w io.Writer, list []web.Ban) {
	fmt.Fprintln(w, "BANNED\tWHAT\tUNTIL\tREASON")
	for _, b := range list {
		what, until := "address", "for ever"
		if b.Account != "" {
			what = "account"
		}
		if b.Until != nil {
			until = b.Until.Local().Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", shown(b.Address+b.Account), what, until, shown(b.Reason))
	}
}

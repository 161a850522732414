package program

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"parley/account"
)

func (a *app) newAccount() *cobra.Command {
	where := accountFlags{app: a}
	cmd := &cobra.Command{
		Use:   "account",
		Short: "Add, ban, list and remove the accounts of players",
		Long: `Account shows and changes the accounts that players log in with. They are kept
in a file in the folder --data, which the server uses too, or in PostgreSQL. The
server may be running: it ends the session of a banned or removed account within
10 seconds.

Upper and lower case make no difference in a name. Passwords are asked for at
the terminal, or read from the first line of standard input with
--password-stdin.`,
		Example: `  parley account add ann
  parley account ban ann --for 24h --reason "rude words"
  parley account list
  parley account list --json --postgres "host=db.internal dbname=parley"`,
	}
	where.register(cmd)
	return group(cmd, newAccountAdd(&where), newAccountBan(&where), newAccountList(&where), newAccountPasswd(&where), newAccountRm(&where), newAccountUnban(&where))
}

func newAccountAdd(where *accountFlags) *cobra.Command {
	var passwords passwordFlag
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Create an account",
		Long: `Add creates an account. A name has 3 to 32 characters: letters and digits of any
script, _ and -. A password has 8 to 128 bytes. The folder and the file are
created if they are missing.`,
		Example: `  parley account add ann
  parley account add ann --password-stdin < password.txt`,
		Args: takesOne("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Before anyone types a password for nothing.
			if account.Reserved(args[0]) {
				return fmt.Errorf("%q looks like the name of the server itself, or of a guest; choose another", args[0])
			}
			if _, err := account.ParseName(args[0]); err != nil {
				return fmt.Errorf("%q is not a valid name: %w", args[0], account.ErrBadName)
			}
			password, err := passwords.read(cmd, args[0])
			if err != nil {
				return err
			}
			return where.ask(cmd, true, args[0], func(s *account.Service, done func(account.Answer)) error {
				return s.Register(netip.Addr{}, args[0], password, done)
			}, func(a account.Account) string { return fmt.Sprintf("added %s, account %d", a.Name, a.ID) })
		},
	}
	passwords.register(cmd)
	return cmd
}

func newAccountPasswd(where *accountFlags) *cobra.Command {
	var passwords passwordFlag
	cmd := &cobra.Command{
		Use:   "passwd NAME",
		Short: "Set a new password",
		Long: `Passwd sets a new password without asking for the old one. A session of the
account goes on. The account's list of known addresses is cleared.`,
		Example: `  parley account passwd ann
  pwgen -s 20 1 | tee new.txt | parley account passwd ann --password-stdin`,
		Args: takesOne("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			password, err := passwords.read(cmd, args[0])
			if err != nil {
				return err
			}
			return where.ask(cmd, false, args[0], func(s *account.Service, done func(account.Answer)) error {
				return s.SetPassword(args[0], password, done)
			}, func(a account.Account) string { return fmt.Sprintf("changed the password of %s", a.Name) })
		},
	}
	passwords.register(cmd)
	return cmd
}

func newAccountBan(where *accountFlags) *cobra.Command {
	var reason string
	var length time.Duration
	cmd := &cobra.Command{
		Use:   "ban NAME",
		Short: "Keep an account out, for a while or for ever",
		Long: `Ban keeps an account out, for the time --for or for ever. A running server ends
the account's session. A second ban replaces the first.`,
		Example: `  parley account ban ann
  parley account ban ann --for 72h --reason "rude words"`,
		Args: takesOne("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var until time.Time
			if cmd.Flags().Changed("for") {
				if length <= 0 {
					return fmt.Errorf("--for is %v; give a time such as 24h, or leave it out for a ban without end", length)
				}
				until = time.Now().Add(length)
			}
			return where.ask(cmd, false, args[0], func(s *account.Service, done func(account.Answer)) error {
				return s.Ban(args[0], until, reason, done)
			}, func(a account.Account) string { return fmt.Sprintf("banned %s %s", a.Name, banEnd(a.Ban)) })
		},
	}
	cmd.Flags().DurationVar(&length, "for", 0, "how long, such as 90m or 72h (default for ever)")
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, which \"parley account list\" shows")
	return cmd
}

func newAccountUnban(where *accountFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "unban NAME",
		Short:   "Let a banned account in again",
		Example: `  parley account unban ann`,
		Args:    takesOne("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			banned, err := where.isBanned(cmd, args[0])
			if err != nil {
				return err
			}
			return where.ask(cmd, false, args[0], func(s *account.Service, done func(account.Answer)) error {
				return s.Unban(args[0], done)
			}, func(a account.Account) string {
				if !banned {
					return fmt.Sprintf("%s was not banned: the account may log in", a.Name)
				}
				return fmt.Sprintf("unbanned %s: the account may log in", a.Name)
			})
		},
	}
}

func newAccountRm(where *accountFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Remove an account",
		Long: `Rm removes an account and all its data. A running server ends the account's
session. Anybody may then register the name: to keep a player out, ban the
account instead.`,
		Example: `  parley account rm ann`,
		Args:    takesOne("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return where.ask(cmd, false, args[0], func(s *account.Service, done func(account.Answer)) error {
				return s.Remove(args[0], done)
			}, func(a account.Account) string { return fmt.Sprintf("removed %s, account %d", a.Name, a.ID) })
		},
	}
}

// isBanned reports whether an account is banned now. Whether there is one at all is for ask to say.
func (f *accountFlags) isBanned(cmd *cobra.Command, name string) (bool, error) {
	store, err := f.open(cmd, false)
	if err != nil {
		return false, err
	}
	defer store.Close()
	r, err := store.Find(cmd.Context(), account.NameKey(name))
	if err != nil && !errors.Is(err, account.ErrNotFound) {
		return false, failure{err}
	}
	return r.Ban.Holds(time.Now()), nil
}

// ask opens the store, makes one request, and prints what was done, or turns what is not OK into a sentence.
func (f *accountFlags) ask(cmd *cobra.Command, mayCreate bool, name string,
	request func(*account.Service, func(account.Answer)) error, did func(account.Account) string) error {
	store, err := f.open(cmd, mayCreate)
	if err != nil {
		return err
	}
	defer store.Close()
	s := account.New(store, account.Config{HashAtOnce: 1, Recheck: -1})
	defer s.Close()
	answers := make(chan account.Answer, 1)
	if err := request(s, func(a account.Answer) { answers <- a }); err != nil {
		return failure{err}
	}
	a := <-answers
	if err := f.answerError(name, a); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), did(a.Account))
	return nil
}

func (f *accountFlags) answerError(name string, a account.Answer) error {
	switch a.Result {
	case account.OK:
		return nil
	case account.Unknown:
		return failure{fmt.Errorf("no account is named %q; \"%s account list\" shows all", name, f.app.name)}
	case account.Taken:
		return failure{fmt.Errorf("the name %q is taken; choose another", name)}
	case account.BadName:
		return fmt.Errorf("%q is not a valid name: %w", name, account.ErrBadName)
	case account.BadPassword:
		return failure{account.ErrBadPassword}
	case account.Failed:
		return failure{a.Err}
	}
	return failure{errors.New(a.Result.String())}
}

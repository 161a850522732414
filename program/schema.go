package program

import (
	"fmt"

	"github.com/spf13/cobra"

	"parley/play/schema"
)

func (a *app) newSchema() *cobra.Command {
	var asJSON, asTS bool
	var profileName string
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Show the kinds, fields and actions of the game",
		Long: `Schema shows what the game of this program sends: its kinds with their fields,
and its actions with their parameters, as they are numbered in each dialect.
Arrays and nested structs are shown flattened, as they travel.

The fingerprint tells schemas apart. Clients of replica, relay and duplex are
told the fingerprint of the server's game when they enter.

With --json the names of the members stay as they are from version to version:
programs may rely on them.

With --ts it prints the types of the game for pages in TypeScript, which play
with the client library of sdk/ts: parley schema --ts > game.ts`,
		Example: `  parley schema
  parley schema --json
  parley schema --ts > game.ts`,
		DisableFlagsInUseLine: true,
		Args:                  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			profile, err := a.profile(profileName)
			if err != nil {
				return err
			}
			if asTS {
				text, err := schema.TypeScript(profile.game)
				if err != nil {
					return failure{err}
				}
				_, err = fmt.Fprint(cmd.OutOrStdout(), text)
				return err
			}
			d, err := schema.Describe(profile.game, profile.firstType)
			if err != nil {
				return failure{err}
			}
			if !asJSON {
				_, err := fmt.Fprint(cmd.OutOrStdout(), d.Text())
				return err
			}
			return printJSON(cmd.OutOrStdout(), d)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&asTS, "ts", false, "print types in TypeScript, for the client library of pages")
	cmd.MarkFlagsMutuallyExclusive("json", "ts")
	a.profileFlag(cmd, &profileName, "what realm's clients know of the game: plain or miko")
	return cmd
}

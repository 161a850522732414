package program

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newHelp makes the help command. It is ours because cobra's answers an
// unknown command with exit status 0.
func (a *app) newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show what a command does, with examples",
		Example: `  parley help
  parley help decode`,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			about, rest, err := root.Find(args)
			if err != nil || (len(args) > 0 && len(rest) > 0) {
				return fmt.Errorf("no help for %q; \"%s help\" lists the commands", strings.Join(args, " "), a.name)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, sub := range cmd.Root().Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

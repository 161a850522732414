package program

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// shells are the shells that there is a completion script for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func (a *app) newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Print a completion script for your shell",
		Long:      "Print a completion script for your shell. The shell must read it at its start.",
		ValidArgs: shells,

		DisableFlagsInUseLine: true,
		Example: `  source <(parley completion bash)
  parley completion zsh > "${fpath[1]}/_parley"
  parley completion fish > ~/.config/fish/completions/parley.fish
  parley completion powershell | Out-String | Invoke-Expression`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("name one shell: %s", sentenceList(shells, "or"))
			}
			return writeCompletion(cmd.Root(), args[0], cmd.OutOrStdout())
		},
	}
}

func writeCompletion(root *cobra.Command, shell string, w io.Writer) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(w)
	}
	return fmt.Errorf("no completion for shell %q; name %s", shell, sentenceList(shells, "or"))
}

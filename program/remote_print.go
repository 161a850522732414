package program

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"parley/internal/plain"
)

// print prints an answer: as JSON, or as a table.
func (f *remoteFlags) print(cmd *cobra.Command, answer any, table func(io.Writer)) error {
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), answer)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	table(w)
	return w.Flush()
}

// done says what was done. As JSON that is an empty object.
func (f *remoteFlags) done(cmd *cobra.Command, format string, args ...any) error {
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), struct{}{})
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...)
	return err
}

// shown is a text of somebody else as a cell of a table.
func shown(text string) string {
	if text = strings.TrimSpace(plain.Text(text)); text == "" {
		return "-"
	}
	return text
}

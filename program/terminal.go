package program

import (
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// terminal returns the terminal that somebody sits at to play, if there is one that can be drawn on.
func terminal(cmd *cobra.Command) (in, out *os.File, ok bool) {
	in, inOK := cmd.InOrStdin().(*os.File)
	w := cmd.OutOrStdout()
	if o, wrapped := w.(*output); wrapped {
		w = o.w
	}
	out, outOK := w.(*os.File)
	ok = inOK && outOK && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb"
	return in, out, ok
}

// isTerminal reports whether somebody looks at w.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

package program

import (
	"io"
	"os"

	"golang.org/x/term"
)

// isTerminal reports whether somebody looks at w.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

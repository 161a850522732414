package program

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// newConvert makes cmd a command that converts the packets of a route.
func newConvert(cmd *cobra.Command, codecs []codec, convert func(r route, text []byte) ([]byte, error)) *cobra.Command {
	var flags routeFlags
	cmd.DisableFlagsInUseLine = true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := flags.resolve(codecs)
		if err != nil {
			return err
		}
		return convertAll(cmd, args, func(text []byte) ([]byte, error) { return convert(r, text) })
	}
	flags.register(cmd, codecs)
	return cmd
}

// A converter turns one packet's text into another: hex to JSON, or back.
type converter func(text []byte) ([]byte, error)

// convertAll converts the arguments or, if there are none, the lines of
// standard input.
func convertAll(cmd *cobra.Command, args []string, convert converter) error {
	if len(args) > 0 {
		return convertArgs(cmd, args, convert)
	}
	return convertLines(cmd.InOrStdin(), cmd.OutOrStdout(), convert)
}

// convertArgs prints a line for each good argument and an error for each bad
// one: a caller that passes ten packets hears of all ten.
func convertArgs(cmd *cobra.Command, args []string, convert converter) error {
	var result error
	for i, arg := range args {
		line, err := convert([]byte(arg))
		if err != nil {
			which := ""
			if len(args) > 1 {
				which = fmt.Sprintf(" packet %d:", i+1)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s:%s %s\n", cmd.CommandPath(), which, sentence(err))
			result = errReported
			continue
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", line); err != nil {
			return err
		}
	}
	return result
}

// convertLines answers each line of in with one line of out, in order, so
// that line n of one belongs to line n of the other. Answers are flushed
// before it waits for input: a program may talk to it line by line.
func convertLines(in io.Reader, out io.Writer, convert converter) error {
	lines := newLineReader(in)
	w := bufio.NewWriter(out)
	for {
		if !lines.ready() {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		text, err := lines.next()
		if err == io.EOF {
			return w.Flush()
		}
		if err != nil && !errors.Is(err, errLineTooLong) {
			// What was answered so far is still true.
			if flushErr := w.Flush(); flushErr != nil {
				return flushErr
			}
			return failure{fmt.Errorf("cannot read standard input: %w", err)}
		}
		var line []byte
		if err == nil {
			line, err = convert(text)
		}
		if err != nil {
			if line, err = marshalLine(lineError{err.Error()}); err != nil {
				return failure{err}
			}
		}
		// A failed write shows again at the next Flush.
		w.Write(line)
		w.WriteByte('\n')
	}
}

// lineError is what stands in the output for a line that could not be
// converted.
type lineError struct {
	Error string `json:"error"`
}

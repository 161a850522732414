package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"parley/account"
)

// passwordFlag says where a password comes from.
type passwordFlag struct{ stdin bool }

func (f *passwordFlag) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.stdin, "password-stdin", false, "read the password from the first line of standard input")
}

// read gets a new password, and refuses one that cannot be before anything is opened.
func (f *passwordFlag) read(cmd *cobra.Command, name string) (string, error) {
	in := newLineReader(cmd.InOrStdin())
	password, err := f.ask(cmd, in, fmt.Sprintf("New password for %s: ", name))
	if err == nil && !f.stdin {
		var again string
		if again, err = f.ask(cmd, in, "The same again: "); err == nil && again != password {
			err = failure{errors.New("the two passwords differ; try again")}
		}
	}
	if err == nil && account.CheckPassword(password) != nil {
		err = failure{account.ErrBadPassword}
	}
	return password, err
}

// ask reads a password from the first line of standard input, which in reads, or asks for it at the terminal.
func (f *passwordFlag) ask(cmd *cobra.Command, in *lineReader, prompt string) (string, error) {
	if f.stdin {
		line, err := in.next()
		if err == io.EOF {
			return "", failure{errors.New("standard input is empty; its first line is the password")}
		}
		if err != nil {
			return "", failure{fmt.Errorf("cannot read standard input: %w", err)}
		}
		return string(line), nil
	}
	terminal, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return "", errors.New("there is no terminal to ask for the password at; give it with --password-stdin")
	}
	return readHidden(terminal, cmd.ErrOrStderr(), prompt)
}

// readHidden reads a line from a terminal that does not show it. Ctrl-C ends the program, and leaves the terminal as it
// was: without that, nothing that is typed after it would be seen.
func readHidden(terminal *os.File, out io.Writer, prompt string) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", failure{err}
	}
	interrupts, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	defer close(done)
	go func() {
		select {
		case <-interrupts:
			term.Restore(fd, before)
			fmt.Fprintln(out)
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	fmt.Fprint(out, prompt)
	line, err := term.ReadPassword(fd)
	fmt.Fprintln(out)
	if err != nil {
		return "", failure{fmt.Errorf("cannot read the password: %w", err)}
	}
	return string(line), nil
}

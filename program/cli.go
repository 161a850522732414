package program

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The exit statuses of parley; a script may rely on them.
const (
	exitOK     = 0
	exitFailed = 1 // a bad packet, or input or output that failed
	exitUsage  = 2 // the command line is wrong, or asks for what cannot be
	exitNobody = 3 // there is no such room, player or ban, or nobody for a match

	exitInterrupted = 130 // at a question; shells say so of a program that Ctrl-C ended
)

// Streams are the standard input, output and error of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs the command line args, without the program's name, and returns the
// exit status.
func Run(args []string, s Streams) int {
	return run(args, s, builtIn())
}

// errReported ends a command whose errors are on standard error already.
var errReported = errors.New("reported")

// A failure is an error that is not the fault of the command line.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

func run(args []string, s Streams, codecs []Codec) int {
	out := &output{w: s.Out}
	// cobra takes a nil slice as a wish to read os.Args.
	args = append([]string{}, args...)

	root := newRoot(codecs)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(out)
	root.SetErr(s.Err)

	_, err := root.ExecuteC()
	if failed := out.failed(); failed != nil {
		say(s.Err, fmt.Sprintf("parley: cannot write the output: %v\n", failed))
		return exitFailed
	}
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errReported) {
		return exitFailed
	}
	if failed := (failure{}); errors.As(err, &failed) {
		say(s.Err, "parley: "+sentence(failed)+"\n")
		if errors.As(err, new(errNothing)) {
			return exitNobody
		}
		return exitFailed
	}
	if _, _, unknown := root.Find(args); unknown != nil {
		err = unknownCommand(root, args)
	}
	// The package parley begins its errors as the program does.
	say(s.Err, "parley: "+strings.TrimPrefix(sentence(err), "parley: ")+"\n")
	return exitUsage
}

func newRoot(codecs []Codec) *cobra.Command {
	root := &cobra.Command{
		Use:   "parley",
		Short: "Multiplayer networking: one world, five dialects",
		Long: `parley is multiplayer networking: one world, five dialects.

"parley serve" runs a game that players of all five share; no set-up is needed.
` + dialectsSentence(codecs),
		Example: `  parley serve
  parley version
  parley decode --help
  source <(parley completion bash)`,
		// Errors are printed in one place, run, as one sentence.
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true,
	}
	// As "parley version" says it. cobra would add -v, which other programs use for "verbose".
	root.Version = thisBuild().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "show the version of this build")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if bad := (*pflag.InvalidValueError)(nil); errors.As(err, &bad) {
			err = flagFault("--"+bad.GetFlag().Name, err)
		}
		return fmt.Errorf("%w; see \"%s --help\"", err, cmd.CommandPath())
	})
	root.SetHelpCommand(newHelp())
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", fmt.Sprintf("Flags.FlagUsagesWrapped %d", helpColumns)))
	root.AddCommand(newAccount(), newCompletion(), newDecode(codecs), newEncode(codecs), newImpair(), newServe(), newJoin(), newBots(), newReplay(), newSchema(), newTicket(), newVersion(),
		newRooms(), newPlayers(), newKick(), newBan(), newSay(), newMatch())
	completeNoFiles(root)
	return root
}

// unknownCommand names the command that is not there and those that are.
func unknownCommand(root *cobra.Command, args []string) error {
	typed := ""
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			typed = arg
			break
		}
	}
	var names []string
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			names = append(names, cmd.Name())
		}
	}
	return fmt.Errorf("unknown command %q; the commands are %s", typed, sentenceList(names, "and"))
}

// completeNoFiles has shells offer no file names where a command does not say what else.
func completeNoFiles(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.ValidArgs == nil && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		completeNoFiles(c)
	}
}

// group makes cmd a command that does nothing but to have others.
func group(cmd *cobra.Command, others ...*cobra.Command) *cobra.Command {
	var names []string
	for _, c := range others {
		names = append(names, c.Name())
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("%q is not a command of %s: they are %s; see \"%s --help\"", args[0], cmd.Name(), sentenceList(names, "and"), cmd.CommandPath())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(others...)
	return cmd
}

// takesOne is the Args of a command that takes one thing.
func takesOne(thing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%q takes one %s; it was given %d", cmd.CommandPath(), thing, len(args))
		}
		return nil
	}
}

// noArguments is the Args of a command that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q takes no arguments; leave out %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// sentenceList writes names as a sentence does: a, b and c.
func sentenceList(names []string, word string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

// output remembers the first write error, as the printing functions of cobra
// drop theirs: a full disk must not look like success.
type output struct {
	w   io.Writer
	err atomic.Pointer[error]
}

func (o *output) Write(p []byte) (int, error) {
	if err := o.failed(); err != nil {
		return 0, err
	}
	n, err := o.w.Write(p)
	if err != nil {
		o.err.CompareAndSwap(nil, &err)
	}
	return n, err
}

func (o *output) failed() error {
	if err := o.err.Load(); err != nil {
		return *err
	}
	return nil
}

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

// The exit statuses; a script may rely on them.
const (
	exitOK     = 0
	exitFailed = 1 // a bad packet, or input or output that failed
	exitUsage  = 2 // the command line is wrong, or asks for what cannot be
	exitNobody = 3 // there is no such room, player or ban, or nobody for a match

	exitInterrupted = 130 // at a question; shells say so of a program that Ctrl-C ended
)

// streams are the standard input, output and error of a command.
type streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// errReported ends a command whose errors are on standard error already.
var errReported = errors.New("reported")

// A failure is an error that is not the fault of the command line.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// run runs the command line args, without the program's name, and returns the exit status.
func (a *app) run(args []string, s streams) int {
	out := &output{w: s.Out}
	// cobra takes a nil slice as a wish to read os.Args.
	args = append([]string{}, args...)

	root := a.newRoot()
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(out)
	root.SetErr(s.Err)

	_, err := root.ExecuteC()
	if failed := out.failed(); failed != nil {
		say(s.Err, fmt.Sprintf("%s: cannot write the output: %v\n", a.name, failed))
		return exitFailed
	}
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errReported) {
		return exitFailed
	}
	if failed := (failure{}); errors.As(err, &failed) {
		say(s.Err, a.name+": "+sentence(failed)+"\n")
		if errors.As(err, new(errNothing)) {
			return exitNobody
		}
		return exitFailed
	}
	if _, _, unknown := root.Find(args); unknown != nil {
		err = unknownCommand(root, args)
	}
	// The package parley begins its errors with its own name.
	say(s.Err, a.name+": "+strings.TrimPrefix(sentence(err), "parley: ")+"\n")
	return exitUsage
}

func (a *app) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   a.name,
		Short: "Multiplayer networking: one world, five dialects",
		Long: a.about() + `

"parley serve" runs a game that players of all five share; no set-up is needed.
` + dialectsSentence(a.codecs),
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
	root.Version = thisBuild(a.name).String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "show the version of this build")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if bad := (*pflag.InvalidValueError)(nil); errors.As(err, &bad) {
			err = flagFault("--"+bad.GetFlag().Name, err)
		}
		return fmt.Errorf("%w; see \"%s --help\"", err, cmd.CommandPath())
	})
	root.SetHelpCommand(a.newHelp())
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", fmt.Sprintf("Flags.FlagUsagesWrapped %d", helpColumns)))
	root.AddCommand(a.newAccount(), a.newCompletion(), a.newDecode(), a.newEncode(), a.newImpair(), a.newServe(), a.newJoin(), a.newBots(), a.newReplay(), a.newSchema(), a.newTicket(), a.newVersion(),
		a.newRooms(), a.newPlayers(), a.newKick(), a.newBan(), a.newSay(), a.newMatch(), a.newCluster())
	completeNoFiles(root)
	a.rename(root)
	return root
}

// about is what the program is, in a sentence.
func (a *app) about() string {
	if a.isArena() {
		return a.name + " is multiplayer networking: one world, five dialects."
	}
	return a.name + " is a game on parley: one world, five dialects."
}

// rename has the help of all commands say the program's own name. It is written with the name parley, as it is read most often so.
func (a *app) rename(root *cobra.Command) {
	pairs := []string{"_parley", "_" + a.name, "parley.fish", a.name + ".fish"}
	for _, cmd := range append(root.Commands(), a.newHelp()) {
		pairs = append(pairs, "parley "+cmd.Name(), a.name+" "+cmd.Name())
	}
	names := strings.NewReplacer(pairs...)
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		cmd.Long, cmd.Example = names.Replace(cmd.Long), names.Replace(cmd.Example)
		rename := func(f *pflag.Flag) { f.Usage = names.Replace(f.Usage) }
		cmd.Flags().VisitAll(rename)
		cmd.PersistentFlags().VisitAll(rename)
		for _, sub := range cmd.Commands() {
			each(sub)
		}
	}
	each(root)
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

package program

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// A build says what this program was made from. The fields after Version are
// left out where the build did not record them.
type build struct {
	name     string // of the program
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Parley   string `json:"parley,omitempty"` // of which version a program of another module is made
}

func (a *app) newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of this build",
		Example: `  parley version
  parley version --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild(a.name)
			if !asJSON {
				fmt.Fprintln(cmd.OutOrStdout(), b)
				return nil
			}
			return printJSON(cmd.OutOrStdout(), b)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// thisBuild says what the running program was made from. The version is the tag of a release.
func thisBuild(name string) build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(name, info)
}

// buildOf reads what the linker recorded; info is nil in a program that was
// built without module support.
func buildOf(name string, info *debug.BuildInfo) build {
	b := build{name: name, Version: "(unknown)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info == nil {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == "parley" {
			b.Parley = m.Version
		}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String writes the build for people, on one line.
func (b build) String() string {
	commit := ""
	if b.Commit != "" {
		commit = " commit " + b.Commit[:min(len(b.Commit), 12)]
		if b.Modified {
			commit += " with changes"
		}
	}
	if b.Parley != "" {
		commit += " with parley " + b.Parley
	}
	return fmt.Sprintf("%s %s%s %s %s/%s", b.name, b.Version, commit, b.Go, b.OS, b.Arch)
}

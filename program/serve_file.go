package program

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// fillFlags gives the flags that were not typed their values: those of the environment, then
// those of the file.
func fillFlags(cmd *cobra.Command, file string) error {
	place := "--config"
	if file == "" {
		file, place = os.Getenv(envName("config")), envName("config")
	}
	values, err := readFile(cmd, file)
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	var problem error
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		env, inEnv := os.LookupEnv(envName(flag.Name))
		text, inFile := values[flag.Name]
		var err error
		switch {
		case flag.Changed:
			return
		case inEnv:
			if err = cmd.Flags().Set(flag.Name, env); err != nil {
				err = flagFault(envName(flag.Name), err)
			}
		case inFile:
			if err = cmd.Flags().Set(flag.Name, text); err != nil {
				err = flagFault(fmt.Sprintf("%s: %s: %s", place, file, flag.Name), err)
			}
		}
		if problem == nil {
			problem = err
		}
	})
	return problem
}

// readFile returns what a file says of each flag, as it would be typed.
func readFile(cmd *cobra.Command, file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	var values map[string]any
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if _, err := toml.Decode(string(text), &values); err != nil {
		return nil, fmt.Errorf("%s: %w; write lines such as tick-rate = 30", file, err)
	}
	typed := map[string]string{}
	for name, v := range values {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || name == "config" || name == "help" {
			return nil, fmt.Errorf("%s has %q, which is no flag of %s; \"%[3]s --help\" lists the flags", file, name, cmd.CommandPath())
		}
		if want := flag.Value.Type(); !isOf(want, v) {
			return nil, fmt.Errorf("%s: %s takes %s, not %s", file, name, typeNames[want], misfit(flag, v))
		}
		typed[name] = fmt.Sprint(v)
	}
	return typed, nil
}

// typeNames say what a flag of a type wants. Any text is a string on the command line, so that "quotes" are those of TOML.
var typeNames = map[string]string{
	"string": `a text in "quotes"`, "bool": "true or false", "int": "a whole number", "uint64": "a whole number of at least 0", "float64": "a number",
	"duration": "a time such as 30s or 24h",
}

// flagFault says in terms of the flag what pflag says in terms of Go. subject is the place that has the value.
func flagFault(subject string, err error) error {
	bad := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &bad) {
		return fmt.Errorf("%s: %w", subject, err)
	}
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s: %s is out of range; use a smaller number", subject, bad.GetValue())
	}
	return fmt.Errorf("%s takes %s, not %q", subject, typeNames[bad.GetFlag().Value.Type()], bad.GetValue())
}

// misfit names a value of the wrong type, and the line to write instead if it is only a matter of quotes.
func misfit(flag *pflag.Flag, v any) string {
	text, isText := v.(string)
	switch v.(type) {
	case map[string]any:
		return "a table"
	case []any:
		return "a list"
	}
	if isText && fits(flag.Value.Type(), text) {
		return fmt.Sprintf("the text %q; write %s = %s", text, flag.Name, text)
	}
	if isText {
		return fmt.Sprintf("the text %q", text)
	}
	if _, isNumber := v.(int64); isNumber && flag.Value.Type() == "duration" {
		return fmt.Sprintf("%v; write %s = \"%vs\" for seconds", v, flag.Name, v)
	}
	if flag.Value.Type() == "string" {
		return fmt.Sprintf("%v; write %s = \"%v\"", v, flag.Name, v)
	}
	return fmt.Sprint(v)
}

// fits reports whether a text would be a value for a flag of the type without its quotes.
func fits(want, text string) bool {
	var err error
	switch want {
	case "bool":
		return text == "true" || text == "false"
	case "int":
		_, err = strconv.ParseInt(text, 10, 64)
	case "uint64":
		_, err = strconv.ParseUint(text, 10, 64)
	default:
		_, err = strconv.ParseFloat(text, 64)
	}
	return err == nil
}

// isOf reports whether a value of TOML is one for a flag of the type: 5 is no folder, though it could
// be read as one.
func isOf(want string, v any) bool {
	switch v.(type) {
	case string:
		return want == "string" || want == "duration"
	case bool:
		return want == "bool"
	case int64:
		return want == "int" || want == "uint64" || want == "float64"
	case float64:
		return want == "float64"
	}
	return false
}

// strayVariables returns the variables of env that begin as ours do and name no flag: a misspelt one, most likely.
// They are no error, as orchestrators set variables after the names of services.
func strayVariables(cmd *cobra.Command, env []string) []string {
	var stray []string
	for _, line := range env {
		name, _, _ := strings.Cut(line, "=")
		if flag, ours := strings.CutPrefix(name, "PARLEY_"); ours && cmd.Flags().Lookup(strings.ToLower(strings.ReplaceAll(flag, "_", "-"))) == nil {
			stray = append(stray, name)
		}
	}
	slices.Sort(stray)
	return stray
}

// envName is the variable of a flag.
func envName(flag string) string {
	return "PARLEY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Command pairs compares one figure of two versions of this project: it runs both by turns, which of them first by turns too,
// and prints the median of the ratios and the interval in which it lies with a confidence of 95%. What disturbs the machine
// disturbs both.
//
//	go run ./pairs -base main -test ./play/gateway -bench 'HubTick$' -metric cpu-p50-ms
//	go run ./pairs -base main -work W3 -peer 'relay unreliable' -metric each
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

type options struct {
	base, metric                string
	test, bench, time           string
	baseTest, work, peer, which string
	pairs                       int
}

func main() {
	if err := run(os.Args[1:]); err != nil && err != flag.ErrHelp {
		fmt.Fprintln(os.Stderr, "pairs:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var o options
	f := flag.NewFlagSet("pairs", flag.ContinueOnError)
	f.StringVar(&o.base, "base", "", "the commit to compare the working tree with")
	f.IntVar(&o.pairs, "n", 20, "pairs")
	f.StringVar(&o.metric, "metric", "ns/op", "the figure: a unit of the benchmark's, or a column of the work's JSON")
	f.StringVar(&o.test, "test", "", "the package of a benchmark, from the root of the project: ./play/gateway")
	f.StringVar(&o.baseTest, "base-test", "", "its path at the base, if it was another")
	f.StringVar(&o.bench, "bench", "", "the benchmark, as in go test -bench")
	f.StringVar(&o.time, "benchtime", "300x", "as in go test -benchtime")
	f.StringVar(&o.work, "work", "", "a work of bench in place of a benchmark: W2 or W3")
	f.StringVar(&o.peer, "peer", "", "its peer")
	f.StringVar(&o.which, "case", "", "its case; the first if empty")
	if err := f.Parse(args); err != nil {
		return err
	}
	switch {
	case o.base == "":
		return errors.New("-base is wanted: a commit")
	case (o.test == "") == (o.work == ""):
		return errors.New("either -test or -work is wanted")
	case o.pairs < 6:
		return errors.New("-n: fewer than 6 pairs have no interval of 95%")
	}
	dir, err := os.MkdirTemp("", "pairs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	top, err := output("", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	old := filepath.Join(dir, "base")
	if _, err := output(top, "git", "worktree", "add", "--detach", "-q", old, o.base); err != nil {
		return err
	}
	defer output(top, "git", "worktree", "remove", "--force", old)
	a, err := o.build(old, filepath.Join(dir, "a"), true)
	if err != nil {
		return err
	}
	b, err := o.build(top, filepath.Join(dir, "b"), false)
	if err != nil {
		return err
	}
	return o.compare(a, b)
}

// program measures the figure once.
type program func() (float64, error)

// build compiles the version in a tree and returns what measures it.
func (o *options) build(tree, to string, base bool) (program, error) {
	if o.work != "" {
		in := filepath.Join(tree, "bench")
		if _, err := output(in, "go", "build", "-buildvcs=false", "-o", to, "."); err != nil {
			return nil, err
		}
		return func() (float64, error) { return o.measureWork(in, to) }, nil
	}
	pkg := o.test
	if base && o.baseTest != "" {
		pkg = o.baseTest
	}
	if _, err := output(tree, "go", "test", "-c", "-o", to, pkg); err != nil {
		return nil, err
	}
	return func() (float64, error) {
		text, err := output(filepath.Join(tree, pkg), to, "-test.run", "^$", "-test.bench", o.bench, "-test.benchtime", o.time)
		if err != nil {
			return 0, err
		}
		return benchmarkFigure(text, o.metric)
	}, nil
}

// benchmarkFigure finds the value before a unit in the line of a benchmark.
func benchmarkFigure(text, unit string) (float64, error) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		for i := 1; i < len(words); i++ {
			if words[i] == unit {
				return strconv.ParseFloat(words[i-1], 64)
			}
		}
	}
	return 0, fmt.Errorf("the benchmark printed no %q:\n%s", unit, text)
}

func (o *options) measureWork(dir, program string) (float64, error) {
	file, err := os.CreateTemp("", "pairs*.json")
	if err != nil {
		return 0, err
	}
	file.Close()
	defer os.Remove(file.Name())
	if _, err := output(dir, program, "-quick", "-work", o.work, "-peers", o.peer, "-json", file.Name()); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return 0, err
	}
	return workFigure(text, o)
}

// workFigure finds a figure in the JSON of a run.
func workFigure(text []byte, o *options) (float64, error) {
	var report struct {
		Samples []struct {
			Work    string             `json:"work"`
			Peer    string             `json:"peer"`
			Case    string             `json:"case"`
			Figures map[string]float64 `json:"figures"`
			Error   string             `json:"error"`
		} `json:"samples"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return 0, err
	}
	for _, s := range report.Samples {
		if s.Work != o.work || s.Peer != o.peer || o.which != "" && s.Case != o.which {
			continue
		}
		if s.Error != "" {
			return 0, errors.New(s.Error)
		}
		if x, ok := s.Figures[o.metric]; ok {
			return x, nil
		}
	}
	return 0, fmt.Errorf("the run has no %s of %s, %s", o.metric, o.work, o.peer)
}

func (o *options) compare(a, b program) error {
	began := time.Now()
	var ratios []float64
	for i := range o.pairs {
		first, second := a, b
		if i%2 == 1 {
			first, second = b, a
		}
		x, err := first()
		if err != nil {
			return err
		}
		y, err := second()
		if err != nil {
			return err
		}
		if i%2 == 1 {
			x, y = y, x
		}
		ratios = append(ratios, y/x)
		fmt.Printf("%3d  base %.4g  now %.4g  ratio %.3f\n", i+1, x, y, y/x)
	}
	m, low, high := interval(ratios)
	fmt.Printf("%d pairs in %v: median ratio %.3f, 95%% interval %.3f to %.3f\n", o.pairs, time.Since(began).Round(time.Second), m, low, high)
	return nil
}

func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

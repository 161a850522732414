// Command gate compares a tally of kept promises with docs/reliability.md. It prints the T number, the promised count
// and the count that was run of each row, and fails if a count is too low. The gate (.ci/run) calls it last.
//
//	go run ./internal/promise/gate docs/reliability.md tally
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gate docs/reliability.md tally")
		os.Exit(2)
	}
	page, err := os.ReadFile(os.Args[1])
	if err == nil {
		var tally []byte
		if tally, err = os.ReadFile(os.Args[2]); err == nil {
			err = check(string(page), string(tally))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// row is a promise of the page: a test checks it at least count times.
type row struct {
	id, part, test string
	count          int
}

func (r row) key() string { return r.id + "\t" + r.part + "\t" + r.test }

// check prints the table, and returns an error if a row of the page was not kept.
func check(page, tally string) error {
	rows, err := readRows(page)
	if err != nil {
		return err
	}
	run, err := readTally(tally)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(out, "T\tpart\tpromised\trun\ttest\t")
	short := 0
	for _, r := range rows {
		verdict := ""
		if run[r.key()] < r.count {
			verdict, short = "SHORT", short+1
		}
		fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%s\t%s\n", r.id, r.part, r.count, run[r.key()], r.test, verdict)
		delete(run, r.key())
	}
	for key, n := range run {
		f := strings.Split(key, "\t")
		fmt.Fprintf(out, "%s\t%s\t-\t%d\t%s\tnot on the page\n", f[0], f[1], n, f[2])
	}
	out.Flush()
	if short > 0 {
		return fmt.Errorf("%d of %d promises were not kept in full", short, len(rows))
	}
	return nil
}

// readRows reads the rows of the page's table of counts: T, part, count, test.
func readRows(page string) (rows []row, err error) {
	known := map[string]bool{}
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		if len(cells) != 4 || !isID(cells[0]) {
			continue
		}
		n, err := strconv.Atoi(strings.ReplaceAll(cells[2], ",", ""))
		r := row{cells[0], cells[1], cells[3], n}
		if err != nil || n < 1 || known[r.key()] {
			return nil, fmt.Errorf("a bad row, or one that is there twice: %s", line)
		}
		known[r.key()] = true
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("the page promises nothing")
	}
	return rows, nil
}

func isID(cell string) bool {
	n, found := strings.CutPrefix(cell, "T")
	_, err := strconv.Atoi(n)
	return found && err == nil
}

// readTally returns the counts of a tally by their keys. If a test records several counts, for its subtests, the
// least is used.
func readTally(tally string) (map[string]int, error) {
	run := map[string]int{}
	for line := range strings.Lines(tally) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("a bad line of the tally: %q", line)
		}
		n, err := strconv.Atoi(f[2])
		if err != nil {
			return nil, fmt.Errorf("a bad line of the tally: %q", line)
		}
		test := f[3]
		if !strings.HasPrefix(test, ".ci/") { // a subtest counts for its test
			test, _, _ = strings.Cut(test, "/")
		}
		key := row{id: f[0], part: f[1], test: test}.key()
		if before, ok := run[key]; ok {
			n = min(n, before)
		}
		run[key] = n
	}
	return run, nil
}

package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// options are what the command line says.
type options struct {
	quick   bool
	pace    pace
	rounds  int
	works   []work
	peers   []string
	json    string
	plots   string
	profile string
	from    []string // files of earlier runs
}

func main() {
	if role := os.Getenv(roleVariable); role != "" {
		serveRequests(roles[role]())
		return
	}
	o, err := parseOptions(os.Args[1:])
	if err == nil {
		err = o.run(os.Stdout)
	}
	if err != nil && err != flag.ErrHelp {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// parseOptions reads the command line.
func parseOptions(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	names := f.String("work", "W1,W2,W3,W4,W5,W6", "which works, of W1 to W6")
	only := f.String("peers", "", "which peers, by parts of their names; all if empty")
	f.BoolVar(&o.quick, "quick", false, "eight minutes in all: fewer cases, shorter, one round")
	f.IntVar(&o.rounds, "repeat", 0, "rounds, of which the medians count (default 3; 1 with -quick)")
	f.StringVar(&o.json, "json", "", "write everything that was measured to this file")
	f.StringVar(&o.plots, "plots", "", "write plots into this directory")
	f.StringVar(&o.profile, "profile", "", "write CPU profiles of the Go servers of W2, W3 and W4 into this directory")
	from := f.String("from", "", "measure nothing: show what these files, of -json, have together")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("there is no argument %q; flags say everything", f.Arg(0))
	}
	o.pace = fullPace
	usual := 3
	if o.quick {
		o.pace, usual = quickPace, 1
	}
	o.rounds = cmp.Or(o.rounds, usual)
	if o.rounds < 1 {
		return nil, fmt.Errorf("-repeat %d: at least one round is needed", o.rounds)
	}
	for name := range strings.SplitSeq(*names, ",") {
		i := slices.IndexFunc(works, func(w work) bool { return w.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("there is no work %q; they are W1 to W6", name)
		}
		o.works = append(o.works, works[i])
	}
	if *from != "" {
		o.from = strings.Split(*from, ",")
	}
	if *only != "" {
		o.peers = strings.Split(*only, ",")
	}
	return &o, nil
}

// wants reports whether the command line asks for a peer.
func (o *options) wants(p Peer) bool {
	return len(o.peers) == 0 || slices.ContainsFunc(o.peers, func(part string) bool { return strings.Contains(p.Name, strings.TrimSpace(part)) })
}

// chosen returns the peers that take part, and what is to be said of all that were asked
// for.
func (o *options) chosen() (list []Peer, about []About) {
	for _, p := range peers {
		if !o.wants(p) || !slices.ContainsFunc(o.works, func(w work) bool { return w.takes(p) }) {
			continue
		}
		a := About{Name: p.Name, Settings: p.Settings, Ours: p.Ours}
		if p.Missing != nil {
			a.Missing = p.Missing()
		}
		if a.Missing == "" {
			list = append(list, p)
			if p.Version != nil {
				a.Version = p.Version()
			}
		}
		about = append(about, a)
	}
	return list, about
}

// run measures, and writes the report.
func (o *options) run(out io.Writer) error {
	for _, dir := range []string{o.plots, o.profile} {
		if dir != "" {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return err
			}
		}
	}
	r, err := o.measure(out)
	if err != nil {
		return err
	}
	writeBars(out, r)
	if o.json != "" {
		if err := r.save(o.json); err != nil {
			return err
		}
	}
	if o.plots != "" {
		return writePlots(o.plots, r)
	}
	return nil
}

// measure makes all measurements, or reads those that were made, and writes the tables.
func (o *options) measure(out io.Writer) (*Report, error) {
	if o.from != nil {
		r, err := loadReports(o.from)
		if err != nil {
			return nil, err
		}
		writeHead(out, r)
		for _, w := range o.works {
			writeTable(out, r, w)
		}
		return r, nil
	}
	r := &Report{Began: time.Now().UTC().Truncate(time.Second), Command: os.Args[1:], Quick: o.quick, Rounds: o.rounds, Machine: thisMachine()}
	var list []Peer
	list, r.Peers = o.chosen()
	writeHead(out, r)
	for _, w := range o.works {
		o.perform(w, o.plan(w, list), r)
		r.settle()
		writeTable(out, r, w)
	}
	return r, nil
}

// profileOf has a server write a CPU profile, if one is wanted, until the function that it
// returns is called.
func (o *options) profileOf(server *child, p Peer, w, kase string, round int) (stop func() error, err error) {
	if o.profile == "" || p.Program != nil {
		return func() error { return nil }, nil
	}
	name := strings.NewReplacer(" ", "-", "/", "-").Replace(fmt.Sprintf("%s %s %s %d.prof", w, p.Name, kase, round))
	if err := server.ask("profile", filepath.Join(o.profile, name), nil); err != nil {
		return nil, err
	}
	return func() error { return server.ask("profile", "", nil) }, nil
}

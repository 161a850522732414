package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// work is one of the six: cases, and how one is measured.
type work struct {
	name    string
	title   string
	cases   []string
	quick   []string // the cases of a quick run
	columns []column
	lanes   int // how many measurements may go on at a time
	takes   func(p Peer) bool
	once    func(o *options, p Peer, kase string, round int) (map[string]float64, error)
}

// works are all that there are.
var works = []work{echoWork, rushWork, crowdWork, roomWork, feelWork, narrowWork}

// task is one measurement to be made.
type task struct {
	work  work
	peer  Peer
	kase  string
	round int
}

// plan returns what is to be measured: in every round every peer has its turn, so that
// what disturbs a part of the run disturbs all alike.
func (o *options) plan(w work, list []Peer) (tasks []task) {
	cases := w.cases
	if o.quick {
		cases = w.quick
	}
	for round := range o.rounds {
		for _, kase := range cases {
			for _, p := range list {
				if w.takes(p) {
					tasks = append(tasks, task{w, p, kase, round + 1})
				}
			}
		}
	}
	return tasks
}

// perform makes all measurements of a work, as many at a time as it has lanes.
func (o *options) perform(w work, tasks []task, r *Report) {
	show := newProgress(w.name, len(tasks))
	defer show.done()
	todo := make(chan task)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range w.lanes {
		wg.Go(func() {
			for t := range todo {
				began := time.Now()
				s := Sample{Work: w.name, Case: t.kase, Peer: t.peer.Name, Round: t.round}
				var err error
				if s.Figures, err = w.once(o, t.peer, t.kase, t.round); err != nil {
					s.Error = err.Error()
				}
				mu.Lock()
				r.add(s)
				mu.Unlock()
				show.step(t, time.Since(began), err)
			}
		})
	}
	for _, t := range tasks {
		todo <- t
	}
	close(todo)
	wg.Wait()
}

// progress is a bar on a terminal, and lines where there is none.
type progress struct {
	all *mpb.Progress
	bar *mpb.Bar
	out io.Writer

	mu   sync.Mutex
	last string
	n    int
}

func newProgress(name string, total int) *progress {
	p := &progress{out: os.Stderr}
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return p
	}
	p.all = mpb.New(mpb.WithOutput(os.Stderr), mpb.WithWidth(40))
	p.bar = p.all.AddBar(int64(total),
		mpb.PrependDecorators(decor.Name(name+" "), decor.CountersNoUnit("%d of %d ")),
		mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_MMSS), decor.Any(func(decor.Statistics) string {
			p.mu.Lock()
			defer p.mu.Unlock()
			return " " + p.last
		})))
	return p
}

// step says that a task is done.
func (p *progress) step(t task, took time.Duration, err error) {
	p.mu.Lock()
	p.n++
	p.last = fmt.Sprintf("%s, %s", t.peer.Name, t.kase)
	line := fmt.Sprintf("%s %s, %s, round %d: %.1f s", t.work.name, t.peer.Name, t.kase, t.round, took.Seconds())
	p.mu.Unlock()
	if err != nil {
		line += ": " + err.Error()
	}
	if p.bar == nil {
		fmt.Fprintln(p.out, line)
		return
	}
	if err != nil {
		fmt.Fprintln(p.all, line)
	}
	p.bar.Increment()
}

func (p *progress) done() {
	if p.all != nil {
		p.all.Wait()
	}
}

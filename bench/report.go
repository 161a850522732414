package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// Sample is one measurement: a peer at a case of a work, in one round.
type Sample struct {
	Work    string             `json:"work"`
	Case    string             `json:"case"`
	Peer    string             `json:"peer"`
	Round   int                `json:"round"`
	Figures map[string]float64 `json:"figures,omitempty"`
	Error   string             `json:"error,omitempty"` // why there are none
}

// Row is what all rounds of a peer at a case say together.
type Row struct {
	Work    string            `json:"work"`
	Case    string            `json:"case"`
	Peer    string            `json:"peer"`
	Figures map[string]Spread `json:"figures,omitempty"`
	Errors  []string          `json:"errors,omitempty"`
}

// About is a peer as it took part.
type About struct {
	Name     string `json:"name"`
	Settings string `json:"settings"`
	Version  string `json:"version,omitempty"`
	Ours     bool   `json:"ours,omitempty"`
	Missing  string `json:"missing,omitempty"` // why it did not take part
}

// Report is a whole run.
type Report struct {
	Began   time.Time `json:"began"`
	Command []string  `json:"command"`
	Quick   bool      `json:"quick"`
	Rounds  int       `json:"rounds"`
	Machine Machine   `json:"machine"`
	Peers   []About   `json:"peers"`
	Rows    []Row     `json:"rows"`
	Bars    []Bar     `json:"bars"`
	Samples []Sample  `json:"samples"`
}

// add takes a sample in.
func (r *Report) add(s Sample) {
	r.Samples = append(r.Samples, s)
}

// settle makes the rows of the samples, in the order of plan, and judges the bars.
func (r *Report) settle() {
	r.Rows = nil
	for _, s := range r.Samples {
		same := func(x Row) bool { return x.Work == s.Work && x.Case == s.Case && x.Peer == s.Peer }
		if !slices.ContainsFunc(r.Rows, same) {
			r.Rows = append(r.Rows, r.row(s.Work, s.Case, s.Peer))
		}
	}
	slices.SortStableFunc(r.Rows, func(a, b Row) int { return placeOf(a) - placeOf(b) })
	r.Bars = judge(r)
}

// placeOf orders rows by work, case and peer.
func placeOf(x Row) int {
	w := slices.IndexFunc(works, func(w work) bool { return w.name == x.Work })
	c := slices.Index(works[w].cases, x.Case)
	p := slices.IndexFunc(peers, func(p Peer) bool { return p.Name == x.Peer })
	return (w*100+c)*1000 + p
}

func (r *Report) row(work, kase, peer string) Row {
	row := Row{Work: work, Case: kase, Peer: peer, Figures: map[string]Spread{}}
	all := map[string][]float64{}
	for _, s := range r.Samples {
		if s.Work != work || s.Case != kase || s.Peer != peer {
			continue
		}
		if s.Error != "" {
			row.Errors = append(row.Errors, s.Error)
		}
		for name, x := range s.Figures {
			all[name] = append(all[name], x)
		}
	}
	for name, x := range all {
		row.Figures[name] = spreadOf(x)
	}
	return row
}

// ratio returns one figure by another over the rounds: what disturbed a round disturbed both.
func (r *Report) ratio(name string, a, b Row) (Spread, bool) {
	var all []float64
	for _, s := range r.Samples {
		if s.Work != a.Work || s.Case != a.Case || s.Peer != a.Peer || s.Error != "" {
			continue
		}
		for _, t := range r.Samples {
			if t.Work == b.Work && t.Case == b.Case && t.Peer == b.Peer && t.Round == s.Round && t.Error == "" && t.Figures[name] > 0 {
				all = append(all, s.Figures[name]/t.Figures[name])
			}
		}
	}
	return spreadOf(all), len(all) > 0
}

// save writes the report as JSON.
func (r *Report) save(name string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o666)
}

// loadReports reads what runs saved, and puts them together: the first says where and when.
func loadReports(names []string) (*Report, error) {
	var all *Report
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var r Report
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, s := range r.Samples {
			if !slices.ContainsFunc(works, func(w work) bool { return w.name == s.Work && slices.Contains(w.cases, s.Case) }) {
				return nil, fmt.Errorf("%s: there is no case %q of a work %q", name, s.Case, s.Work)
			}
		}
		if all == nil {
			all = &r
			continue
		}
		all.follow(r)
		for _, p := range r.Peers {
			if !slices.Contains(all.Peers, p) {
				all.Peers = append(all.Peers, p)
			}
		}
	}
	all.settle()
	return all, nil
}

// follow adds the samples of another run. Its rounds of a work come after those that are
// there.
func (r *Report) follow(next Report) {
	last := map[string]int{}
	for _, s := range r.Samples {
		last[s.Work] = max(last[s.Work], s.Round)
	}
	for _, s := range next.Samples {
		s.Round += last[s.Work]
		r.Samples = append(r.Samples, s)
		r.Rounds = max(r.Rounds, s.Round)
	}
}

package web

import (
	"reflect"
	"strings"
)

// Counter is one number of the server, named for people.
type Counter struct {
	Name   string  `json:"name" doc:"what it counts, and of what, in words"`
	Metric string  `json:"metric" doc:"its name at /metrics"`
	Part   string  `json:"part" doc:"the dialect that it is of, or game"`
	Kind   string  `json:"kind" doc:"counter (it only grows), gauge or histogram"`
	Value  float64 `json:"value" doc:"the number; of a histogram how many there were"`
	Text   string  `json:"text" doc:"the number with its unit; of a histogram the mean and what 99 in a hundred did not exceed"`
	Help   string  `json:"help" doc:"what it means, and what to do when it grows"`
}

// Counters are all numbers of the server.
type Counters struct {
	Counters []Counter `json:"counters" doc:"in the order of docs/metrics.md"`
}

// countersFor lists all series of the table of metrics, as many as a game has, but at most maxCounters.
func countersFor(stats any) Counters {
	samples := map[string]sample{}
	walk(reflect.ValueOf(stats), "", func(s sample) { samples[s.path] = s })
	list := []Counter{}
	for i := range families {
		f := &families[i]
		f.series(samples, func(s sample, labels []string) {
			if len(list) >= maxCounters {
				return
			}
			c := Counter{Metric: f.name, Part: "game", Kind: string(f.kind), Help: f.help, Value: s.value}
			if strings.HasPrefix(f.labels, "dialect") {
				c.Part, labels = labels[0], labels[1:]
			}
			row, ok := f.row(s, labels)
			c.Name, c.Text = row.Name, row.Value
			if s.times != nil {
				count, _, _ := s.times.Histogram()
				if c.Value = float64(count); !ok {
					c.Text = "none yet"
				}
			}
			list = append(list, c)
		})
	}
	return Counters{list}
}

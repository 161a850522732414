package web

import (
	"reflect"
	"time"
)

// Rates are counters as rates: what they grew by in a second.
type Rates struct {
	Ticks        float64 `json:"ticks" doc:"ticks"`
	Requests     float64 `json:"requests" doc:"requests of players"`
	DatagramsIn  float64 `json:"datagrams_in" doc:"datagrams received"`
	DatagramsOut float64 `json:"datagrams_out" doc:"datagrams sent"`
	BytesIn      float64 `json:"bytes_in" doc:"payload bytes received"`
	BytesOut     float64 `json:"bytes_out" doc:"payload bytes sent"`
}

// countersOf reads the counters that Rates are made of, from the table of metrics.
func countersOf(stats any) (sum Rates) {
	samples := map[string]sample{}
	walk(reflect.ValueOf(stats), "", func(s sample) { samples[s.path] = s })
	for i := range families {
		fam := &families[i]
		fam.series(samples, func(s sample, labels []string) {
			switch last := len(labels) - 1; fam.name {
			case "parley_ticks_total":
				if labels[0] != "skipped" {
					sum.Ticks += s.value
				}
			case "parley_requests_total":
				sum.Requests += s.value
			case "parley_datagrams_total":
				switch labels[last] {
				case "received":
					sum.DatagramsIn += s.value
				case "sent":
					sum.DatagramsOut += s.value
				}
			case "parley_bytes_total":
				switch labels[last] {
				case "in":
					sum.BytesIn += s.value
				case "out":
					sum.BytesOut += s.value
				}
			}
		})
	}
	return sum
}

// since returns what counters grew by in a second.
func (r Rates) since(before Rates, d time.Duration) Rates {
	rate := func(now, before float64) float64 {
		if d <= 0 || now < before {
			return 0
		}
		return float64(int64((now-before)/d.Seconds()*10+.5)) / 10
	}
	return Rates{rate(r.Ticks, before.Ticks), rate(r.Requests, before.Requests), rate(r.DatagramsIn, before.DatagramsIn),
		rate(r.DatagramsOut, before.DatagramsOut), rate(r.BytesIn, before.BytesIn), rate(r.BytesOut, before.BytesOut)}
}

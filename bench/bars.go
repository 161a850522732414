package main

import (
	"fmt"
	"io"
	"strings"
)

// Bar is something that the project asks of itself, and what this run says to it.
type Bar struct {
	Work string  `json:"work"`
	Asks string  `json:"asks"`
	Got  float64 `json:"got"` // the median over the rounds, and what lies on both sides of it
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	Most float64 `json:"bound"`    // at most, or at least
	More bool    `json:"at_least"` // the bound is a least
	Met  bool    `json:"met"`
}

// byHow says how far the figure is from the bound, in hundredths of the bound.
func (b Bar) byHow() float64 {
	if b.Most == 0 {
		return 0
	}
	d := 100 * (b.Got - b.Most) / b.Most
	if b.More {
		return d
	}
	return -d
}

// judgement gathers bars. What was not measured is not judged.
type judgement struct {
	r    *Report
	bars []Bar
}

func judge(r *Report) []Bar {
	j := &judgement{r: r}
	j.echo()
	j.rush()
	j.crowd()
	j.room()
	j.feel()
	j.narrow()
	return j.bars
}

func (j *judgement) most(work string, got Spread, bound float64, format string, args ...any) {
	j.bars = append(j.bars, Bar{Work: work, Asks: fmt.Sprintf(format, args...), Got: got.Median, Low: got.Least, High: got.Most, Most: bound, Met: got.Median <= bound})
}

func (j *judgement) least(work string, got Spread, bound float64, format string, args ...any) {
	j.most(work, got, bound, format, args...)
	b := &j.bars[len(j.bars)-1]
	b.More, b.Met = true, got.Median >= bound
}

// rows yields the rows of a case that have figures.
func (j *judgement) rows(work, kase string, wanted func(p Peer) bool) (list []Row) {
	for _, row := range j.r.Rows {
		if p, ok := peerNamed(row.Peer); ok && row.Work == work && row.Case == kase && len(row.Figures) > 0 && wanted(p) {
			list = append(list, row)
		}
	}
	return list
}

func isOurs(p Peer) bool  { return p.Ours }
func isOther(p Peer) bool { return !p.Ours }

// best returns the row with the least of a figure.
func best(rows []Row, figure string) (least Row, ok bool) {
	for _, row := range rows {
		if !ok || row.Figures[figure].Median < least.Figures[figure].Median {
			least, ok = row, true
		}
	}
	return least, ok
}

// echo: "p99 at 5% loss at most 1.15 × that at 0%, datagrams at most 1.3 ×, bytes at most 1.8 ×; at 10% at most 1.25, 1.5, 2.4 ×" for
// replica, whose packets may share a datagram. For relay: "p99 at 5% at most 1.3 × that at 0%, at 10% at most 1.6 ×". For all: "below
// every peer's p95 and p99 at 2, 5 and 10%; UDP payload a message both ways at 0% at most 170 bytes".
func (j *judgement) echo() {
	type bounds map[string]float64 // by figure
	replica := map[string]bounds{"5%": {"p99": 1.15, "datagrams": 1.3, "bytes": 1.8}, "10%": {"p99": 1.25, "datagrams": 1.5, "bytes": 2.4}}
	others := map[string]bounds{"5%": {"p99": 1.3}, "10%": {"p99": 1.6}}
	for _, clean := range j.rows("W1", "0%", isOurs) {
		by := others
		if strings.HasPrefix(clean.Peer, "replica") {
			by = replica
		}
		for _, kase := range []string{"5%", "10%"} {
			lossy := clean
			lossy.Case = kase
			for _, figure := range []string{"p99", "datagrams", "bytes"} {
				bound, asked := by[kase][figure]
				if ratio, ok := j.r.ratio(figure, lossy, clean); ok && asked {
					j.most("W1", ratio, bound, "%s: %s at %s by %s at 0%%", clean.Peer, figure, kase, figure)
				}
			}
		}
	}
	for _, kase := range []string{"2%", "5%", "10%"} {
		for _, figure := range []string{"p95", "p99"} {
			other, ok := best(j.rows("W1", kase, isOther), figure)
			for _, own := range j.rows("W1", kase, isOurs) {
				if ok {
					j.most("W1", own.Figures[figure], other.Figures[figure].Median, "%s: %s at %s, ms, against the best peer (%s)", own.Peer, figure, kase, other.Peer)
				}
			}
		}
	}
	for _, own := range j.rows("W1", "0%", isOurs) {
		j.most("W1", own.Figures["bytes"], 170, "%s: bytes a message both ways at 0%%", own.Peer)
	}
}

// rush: "at least 1.5 × ENet at its best, at less CPU a million". The other peers' rates stand beside ours, and so does that of an ENet
// to which a program hands many messages as one.
func (j *judgement) rush() {
	for _, own := range j.rows("W2", "64 bytes", isOurs) {
		j.least("W2", own.Figures["rate"], 1e6, "%s: messages a second", own.Peer)
		for _, other := range j.rows("W2", "64 bytes", isOther) {
			rate, ok := j.r.ratio("rate", own, other)
			if !ok {
				continue
			}
			bound := 1.0
			if other.Peer == "enet" {
				bound = 1.5
			}
			j.least("W2", rate, bound, "%s: messages a second by those of %s", own.Peer, other.Peer)
			if cpu, ok := j.r.ratio("cpu", own, other); ok && other.Peer == "enet" {
				j.most("W2", cpu, 1, "%s: CPU a million by that of %s", own.Peer, other.Peer)
			}
		}
	}
}

// crowd: "server CPU at most 1.15 × raw batched UDP, replica ordered at 1,000 at most 1.25 ×, and at most ENet's; memory a connection at
// most 3 KiB; p99 latency at most that of raw UDP + 1 ms. At 4,000: everything delivered".
func (j *judgement) crowd() {
	for _, kase := range crowdWork.cases {
		enet := map[bool]Row{} // by whether it is reliable
		for _, row := range j.rows("W3", kase, func(p Peer) bool { return strings.HasPrefix(p.Name, "enet") }) {
			p, _ := peerNamed(row.Peer)
			enet[p.Reliable] = row
		}
		for _, own := range j.rows("W3", kase, isOurs) {
			p, _ := peerNamed(own.Peer)
			of := fmt.Sprintf("%s, %s clients", own.Peer, kase)
			switch {
			case !p.Acks:
				j.most("W3", own.Figures["xfloor"], 1.15, "%s: server CPU by that of %s", of, floorOf(p))
			case own.Peer == "replica ordered" && kase == "1000":
				j.most("W3", own.Figures["xfloor"], 1.25, "%s: server CPU by that of %s", of, floorOf(p))
			}
			if row, ok := enet[p.Reliable]; ok && !p.Down {
				// Both by their floors, which were measured in the same seconds.
				if ratio, ok := j.r.ratio("xfloor", own, row); ok {
					j.most("W3", ratio, 1, "%s: server CPU by that of %s", of, row.Peer)
				}
			}
			j.most("W3", own.Figures["resident"], 3, "%s: KiB a connection", of)
			j.most("W3", own.Figures["p99"], own.Figures["floorp99"].Median+1, "%s: p99 in ms, against %s and 1 ms", of, floorOf(p))
			j.least("W3", own.Figures["delivered"], 100, "%s: delivered, %%", of)
		}
	}
}

// room: "CPU a client below Colyseus's by at least 3 ×; bytes an object-tick at most 12", and 6.5 where x and y are quantised. Those rows
// have half the bytes to send, so their CPU is not held against others. Over WebSocket the bar is "half of Colyseus' CPU on the same transport".
func (j *judgement) room() {
	for _, kase := range roomWork.cases {
		for _, own := range j.rows("W4", kase, func(p Peer) bool { return p.Room == replicaRoomQ || p.Room == replicaRoomWSQ }) {
			j.most("W4", own.Figures["bytes"], 6.5, "%s, %s: bytes an object-tick", own.Peer, kase)
		}
		for _, own := range j.rows("W4", kase, func(p Peer) bool { return p.Room == replicaRoom || p.Room == replicaRoomWS }) {
			bound := 3.0
			if p, _ := peerNamed(own.Peer); p.TCP {
				bound = 2
			}
			for _, other := range j.rows("W4", kase, func(p Peer) bool { return p.Name == "colyseus" }) {
				// Of a client-tick, as not everyone held the rate.
				if ratio, ok := j.r.ratio("each", other, own); ok {
					j.least("W4", ratio, bound, "%s, %s: server CPU of %s by ours", own.Peer, kase, other.Peer)
				}
			}
			j.most("W4", own.Figures["bytes"], 12, "%s, %s: bytes an object-tick", own.Peer, kase)
		}
	}
}

// feel: "p99 at 5% ≤ 1.3 × that at 0% for replica, relay and duplex, and below both", Colyseus and ENet. Of a peer's rows the best
// counts.
func (j *judgement) feel() {
	for _, own := range j.rows("W5", "5%", func(p Peer) bool { return p.Ours && p.Feel != "realm" }) {
		clean := own
		clean.Case = "0%"
		if ratio, ok := j.r.ratio("p99", own, clean); ok {
			j.most("W5", ratio, 1.3, "%s: p99 at 5%% by p99 at 0%%", own.Peer)
		}
		for _, feel := range []string{"colyseus", "enet"} {
			if other, ok := best(j.rows("W5", "5%", func(p Peer) bool { return p.Feel == feel }), "p99"); ok {
				j.most("W5", own.Figures["p99"], other.Figures["p99"].Median, "%s: p99 at 5%%, ms, against %s", own.Peer, other.Peer)
			}
		}
	}
}

// writeBars says which bars were met, and by how much.
func writeBars(out io.Writer, r *Report) {
	if len(r.Bars) == 0 {
		return
	}
	fmt.Fprintf(out, "\nWhat the project asks of itself\n\n")
	lines := [][]string{{"work", "bar", "measured", "rounds", "bound", "", "by %"}}
	for _, b := range r.Bars {
		verdict, sign := "met", "≤"
		if !b.Met {
			verdict = "MISSED"
		}
		if b.More {
			sign = "≥"
		}
		lines = append(lines, []string{b.Work, b.Asks, short(b.Got), short(b.Low) + "–" + short(b.High), sign + " " + short(b.Most), verdict, fmt.Sprintf("%+.0f", b.byHow())})
	}
	writeLines(out, lines)
}

// short writes a number with as many digits as matter.
func short(x float64) string {
	switch {
	case x >= 1000:
		return fmt.Sprintf("%.0f", x)
	case x >= 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

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
	Got  float64 `json:"got"`
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

func (j *judgement) most(work string, got, bound float64, format string, args ...any) {
	j.bars = append(j.bars, Bar{Work: work, Asks: fmt.Sprintf(format, args...), Got: got, Most: bound, Met: got <= bound})
}

func (j *judgement) least(work string, got, bound float64, format string, args ...any) {
	j.bars = append(j.bars, Bar{Work: work, Asks: fmt.Sprintf(format, args...), Got: got, Most: bound, More: true, Met: got >= bound})
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

// echo: "p99 at 5% loss at most 1.3 × our p99 at 0%, at 10% at most 1.6 ×; below every peer's
// p95 and p99 at 2, 5 and 10%; UDP payload a message both ways at 0% at most 170 bytes".
func (j *judgement) echo() {
	for _, clean := range j.rows("W1", "0%", isOurs) {
		for _, x := range []struct {
			kase  string
			bound float64
		}{{"5%", 1.3}, {"10%", 1.6}} {
			if got, ok := j.r.figure("W1", x.kase, clean.Peer, "p99"); ok {
				j.most("W1", got/clean.Figures["p99"].Median, x.bound, "%s: p99 at %s by p99 at 0%%", clean.Peer, x.kase)
			}
		}
	}
	for _, kase := range []string{"2%", "5%", "10%"} {
		for _, figure := range []string{"p95", "p99"} {
			other, ok := best(j.rows("W1", kase, isOther), figure)
			for _, own := range j.rows("W1", kase, isOurs) {
				if ok {
					j.most("W1", own.Figures[figure].Median, other.Figures[figure].Median, "%s: %s at %s, ms, against the best peer (%s)", own.Peer, figure, kase, other.Peer)
				}
			}
		}
	}
	for _, own := range j.rows("W1", "0%", isOurs) {
		j.most("W1", own.Figures["bytes"].Median, 170, "%s: bytes a message both ways at 0%%", own.Peer)
	}
}

// rush: "at least 1,000,000 messages/s, and more than every Go peer that sends each message
// as it comes".
func (j *judgement) rush() {
	for _, own := range j.rows("W2", "64 bytes", isOurs) {
		rate := own.Figures["rate"].Median
		j.least("W2", rate, 1e6, "%s: messages a second", own.Peer)
		for _, other := range j.rows("W2", "64 bytes", isOther) {
			j.least("W2", rate, other.Figures["rate"].Median, "%s: messages a second, against %s", own.Peer, other.Peer)
		}
	}
}

// crowd: "server CPU at most 1.15 × raw batched UDP and at most ENet's; memory a connection at
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
			if !p.Acks {
				j.most("W3", own.Figures["xfloor"].Median, 1.15, "%s: server CPU by that of %s", of, floorOf(p))
			}
			if row, ok := enet[p.Reliable]; ok && !p.Down {
				// Both by their floors, which were measured in the same seconds.
				if ratio, ok := j.r.ratio("xfloor", own, row); ok {
					j.most("W3", ratio, 1, "%s: server CPU by that of %s", of, row.Peer)
				}
			}
			j.most("W3", own.Figures["resident"].Median, 3, "%s: KiB a connection", of)
			j.most("W3", own.Figures["p99"].Median, own.Figures["floorp99"].Median+1, "%s: p99 in ms, against %s and 1 ms", of, floorOf(p))
			j.least("W3", own.Figures["delivered"].Median, 100, "%s: delivered, %%", of)
		}
	}
}

// room: "CPU a client below Colyseus's by at least 3 ×; bytes an object-tick at most 12", and 6.5 where x and y are quantised. That
// one has half the bytes to send, so its CPU is not held against others.
func (j *judgement) room() {
	for _, kase := range roomWork.cases {
		for _, own := range j.rows("W4", kase, func(p Peer) bool { return p.Room == replicaRoomQ }) {
			j.most("W4", own.Figures["bytes"].Median, 6.5, "%s, %s: bytes an object-tick", own.Peer, kase)
		}
		for _, own := range j.rows("W4", kase, func(p Peer) bool { return isOurs(p) && p.Room != replicaRoomQ }) {
			for _, other := range j.rows("W4", kase, func(p Peer) bool { return !p.Ours && p.Room != udpRoom }) {
				// Of a client-tick, as not everyone held the rate.
				if ratio, ok := j.r.ratio("each", other, own); ok {
					j.least("W4", ratio, 3, "%s, %s: server CPU of %s by ours", own.Peer, kase, other.Peer)
				}
			}
			j.most("W4", own.Figures["bytes"].Median, 12, "%s, %s: bytes an object-tick", own.Peer, kase)
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
				j.most("W5", own.Figures["p99"].Median, other.Figures["p99"].Median, "%s: p99 at 5%%, ms, against %s", own.Peer, other.Peer)
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
	lines := [][]string{{"work", "bar", "measured", "bound", "", "by %"}}
	for _, b := range r.Bars {
		verdict, sign := "met", "≤"
		if !b.Met {
			verdict = "MISSED"
		}
		if b.More {
			sign = "≥"
		}
		lines = append(lines, []string{b.Work, b.Asks, short(b.Got), sign + " " + short(b.Most), verdict, fmt.Sprintf("%+.0f", b.byHow())})
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

package main

import "time"

// narrow: "own steps seen 100%, asking-to-seeing p99 ≤ that without a limit + 100 ms (+ the time of one full packet); lines of
// chat all there, p99 ≤ 500 ms; drops at the queue ≤ 1% after the first 3 s; the link used ≥ 80%, the queue's mean ≤ 30 ms; what
// is near is at most 3 × as old as the link's share allows, nothing starves".
func (j *judgement) narrow() {
	for _, c := range narrowCases {
		if !isNarrow(c.name) {
			continue
		}
		for _, own := range j.rows("W6", c.name, isOurs) {
			if free := j.rows("W6", c.free(), func(p Peer) bool { return p.Name == own.Peer }); len(free) > 0 {
				j.narrowRow(c, own, free[0])
			}
		}
	}
}

// narrowRow judges a row beside that without a limit.
func (j *judgement) narrowRow(c narrowCase, own, free Row) {
	const work = "W6"
	of := own.Peer + ", " + own.Case
	got := func(figure string) Spread { return own.Figures[figure] }
	least := leastRate(c)
	if _, plays := own.Figures["steps"]; plays {
		j.least(work, got("steps"), 100, "%s: own steps seen, %%", of)
		packet := millis(timeOf(narrowMTU, least))
		j.most(work, got("p99"), free.Figures["p99"].Median+100+packet, "%s: p99 of own steps in ms, against no limit, 100 ms and a packet", of)
		j.least(work, got("lines"), 100, "%s: lines heard, %%", of)
		j.most(work, got("linep99"), 500, "%s: p99 of lines, ms", of)
	}
	j.most(work, got("dropped"), 1, "%s: dropped by the full queue, %%", of)
	toSay := free.Figures["used"].Median
	j.least(work, got("used"), .8*c.could(1000*toSay)/1000, "%s: kbit/s through the link, against 80%% of what there is room for and something to say", of)
	j.most(work, got("wait"), 30, "%s: mean wait in the queue, ms", of)
	// Half of the link for what is near, and half for a round of all. A walker takes what it takes where there is no limit.
	each := toSay * 1000 / 8 / narrowRate / narrowWalkers // bytes
	shareOf := func(walkers int) float64 {
		return millis(max(time.Second/narrowRate, timeOf(int(2*float64(walkers)*each), least)))
	}
	j.most(work, got("near95"), free.Figures["near95"].Median+3*shareOf(narrowNear), "%s: age of what is near, p95 in ms, against three times the link's share", of)
	j.most(work, got("oldest"), free.Figures["oldest"].Median+3*shareOf(narrowWalkers)+millis(narrowQueue), "%s: age of the oldest, ms, against three rounds of all", of)
}

// leastRate is the rate of the narrowest part of a case.
func leastRate(c narrowCase) int {
	least := c.rates[0]
	for _, rate := range c.rates {
		least = min(least, rate)
	}
	return least
}

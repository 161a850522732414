package main

import (
	"fmt"
	"strconv"
	"strings"
)

// tables are the tables of docs/scale.md.
func tables(c *Costs, a assumptions) (string, error) {
	var b strings.Builder
	if err := writeParts(&b, c); err != nil {
		return "", err
	}
	writeEntries(&b, c)
	if err := writeCores(&b, c, a); err != nil {
		return "", err
	}
	if err := writeNeeds(&b, c, a); err != nil {
		return "", err
	}
	return b.String(), nil
}

func writeParts(b *strings.Builder, c *Costs) error {
	fmt.Fprintf(b, "**The run.** %s. Began %s at loads of %s. A datagram of %d bytes, in batches of %d: %.2f µs to send, %.2f µs to receive.\n\n",
		c.Machine, c.Began, strings.ReplaceAll(c.Load, " ", ", "), c.Datagram.Bytes, c.Datagram.Batch, c.Datagram.SendNS/1000, c.Datagram.Receive/1000)
	b.WriteString("| room of | others in sight | CPU of a player and tick, µs | of which the step | its inputs | its view | sending | receiving | the rest | the room's own, µs a tick | B/s down | B/s up | KB a player | paths taken for narrow, % | ticks late, skipped |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range c.Runs {
		w, err := c.world(r.Room)
		if err != nil {
			return err
		}
		l, err := loadOf(c, assumed, r.Room)
		if err != nil {
			return err
		}
		p := partsOf(c, w, r)
		step, own := micro(p.step), "–"
		if p.room > 0 {
			step, own = own, number(p.room/1000)
		}
		row(b, r.Room, number(r.Seen), micro(p.whole), step, micro(p.input), micro(p.sight), micro(p.send), micro(p.receive), micro(p.rest), own,
			number(l.out/8), number(l.in/8), number(r.Memory/1000), number(100*r.Narrow), fmt.Sprintf("%d, %d of %s", r.Late, r.Skipped, number(r.Ticks*float64(r.Rooms))))
	}
	b.WriteByte('\n')
	b.WriteString("| room of | an input, µs | a view that is read to its end, µs | changes in it | an entry made, µs | read elsewhere, µs | bytes of it | bytes of a snapshot | KB of heap a room |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, w := range c.Worlds {
		row(b, w.Room, micro(w.InputNS), micro(w.ViewNS), number(w.Changes), micro(w.SealNS), micro(w.ApplyNS), number(float64(w.EntryBytes)), number(float64(w.StateBytes)), number(w.HeapBytes/1000))
	}
	b.WriteByte('\n')
	return nil
}

func writeEntries(b *strings.Builder, c *Costs) {
	b.WriteString("| replicas | streams | rooms | entries a second of a room | bytes | entries a second of all | refused tries | CPU of the servers, µs | of the node, µs | messages an entry | p50, p99 ms |\n")
	b.WriteString("| ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, e := range c.Appends {
		rate := "as fast as they go"
		if e.Rate > 0 {
			rate = strconv.Itoa(e.Rate)
		}
		row(b, strconv.Itoa(e.Replicas), strconv.Itoa(e.Streams), strconv.Itoa(e.Rooms), rate, number(float64(e.Bytes)), number(e.PerSecond), strconv.Itoa(e.Refused),
			number(e.Servers/1000), number(e.Node/1000), number(e.Messages), number(e.P50MS)+", "+number(e.P99MS))
	}
	b.WriteByte('\n')
}

// writeCores says what a core serves that does nothing else.
func writeCores(b *strings.Builder, c *Costs, a assumptions) error {
	s, err := storeOf(c, a.Replicas)
	if err != nil {
		return err
	}
	b.WriteString("| room of | players a core, without a log | rooms a core, without a log | with an append a second | with one each tick | players whom one dialect's loop serves | processes a room | its step and entry, % of one core |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, k := range kinds {
		l, err := loadOf(c, a, k.name)
		if err != nil {
			return err
		}
		bare := a.TickRate * (l.size*l.loop + l.stages*(l.stage+l.spread))
		logged := bare + a.TickRate*(l.seal+(l.stages-1)*l.apply)
		row(b, k.name, number(a.Share*second/bare*l.size), few(a.Share*second/bare), few(a.Share*second/(logged+s.entry(s.slow, l.entry*a.TickRate))),
			few(a.Share*second/(logged+a.TickRate*s.entry(s.slow, l.entry))), number(l.most), number(l.stages), number(100*a.TickRate*(l.stage+max(l.seal, l.apply))/second))
	}
	b.WriteByte('\n')
	b.WriteString("| replicas | appends a second that a whole core serves, at the pace of ticks | as fast as one stream goes | the most of one stream |\n| ---: | ---: | ---: | ---: |\n")
	for _, replicas := range []int{1, a.Replicas} {
		s, err := storeOf(c, replicas)
		if err != nil {
			return err
		}
		row(b, strconv.Itoa(replicas), number(second/s.entry(s.slow, 0)), number(second/s.entry(s.fast, 0)), number(s.fast.rate))
	}
	b.WriteByte('\n')
	return nil
}

func writeNeeds(b *strings.Builder, c *Costs, a assumptions) error {
	s, err := storeOf(c, a.Replicas)
	if err != nil {
		return err
	}
	head := "| players | room of | rooms | machines | processes | clusters | cores: players, rooms, NATS | Gbit/s down, up, logs | appends a second | messages of NATS a second | GB a machine | first to break | next |\n" +
		"| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |\n"
	for _, way := range []struct {
		about string
		rate  float64
	}{
		{"A room of one process appends once a second:", 1},
		{"Every room appends at each tick:", a.TickRate},
	} {
		fmt.Fprintf(b, "%s\n\n%s", way.about, head)
		for _, players := range a.Players {
			for _, k := range kinds {
				l, err := loadOf(c, a, k.name)
				if err != nil {
					return err
				}
				n := needOf(l, s, a, players, way.rate)
				row(b, number(players), k.name, number(n.rooms), number(n.machines), number(n.processes), number(n.clusters),
					number(n.loop)+", "+number(n.stage)+", "+number(n.nats), number(n.out/1e9)+", "+number(n.in/1e9)+", "+number(n.between/1e9),
					number(n.appends), number(n.messages), number(n.memory/1e9), n.uses[0].String(), n.uses[1].String())
			}
		}
		b.WriteByte('\n')
	}
	return nil
}

var whatNames = [...]string{"unset", "CPU", "loop", "step", "streams", "leases", "link", "memory"}

func (w what) String() string { return whatNames[w] }

func (u use) String() string { return fmt.Sprintf("%s %.0f%%", u.what, 100*u.part) }

func row(b *strings.Builder, cells ...string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

func micro(ns float64) string { return strconv.FormatFloat(ns/1000, 'f', 2, 64) }

// few writes a count that may be below one.
func few(x float64) string {
	if x >= 1 {
		return number(float64(int64(x)))
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// number writes a number with three digits that say something, and commas.
func number(x float64) string {
	switch {
	case x < 0:
		return "-" + number(-x)
	case x == float64(int64(x)) && x < 100 || x >= 100:
		digits := strconv.FormatFloat(x, 'f', 0, 64)
		for i := len(digits) - 3; i > 0; i -= 3 {
			digits = digits[:i] + "," + digits[i:]
		}
		return digits
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x < .005:
		return "0.00"
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

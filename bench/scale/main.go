package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if role := os.Getenv(roleVariable); role != "" {
		serve(role)
		return
	}
	if err := run(os.Args[1:]); err != nil && err != flag.ErrHelp {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	only := f.String("only", "", "measure only the parts that begin so, to look at them: datagram, world, room, append")
	measure := f.String("measure", "", "measure, and write the costs to this file")
	from := f.String("from", "../docs/scale.json", "write the tables of these costs")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("there is no argument %q; flags say everything", f.Arg(0))
	}
	if *measure != "" {
		c, err := measureAll(*only)
		if err != nil {
			return err
		}
		if err := c.save(*measure); err != nil {
			return err
		}
		*from = *measure
	}
	c, err := loadCosts(*from)
	if err != nil {
		return err
	}
	text, err := tables(&c, assumed)
	if err != nil {
		return err
	}
	_, err = fmt.Print(text)
	return err
}

// measureAll measures everything, and says on the way what it is at.
func measureAll(only string) (c Costs, err error) {
	wanted := func(part string) bool { return strings.HasPrefix(part, only) }
	c.Began = time.Now().UTC().Format(time.RFC3339)
	c.Machine, c.Load = thisMachine()
	say := func(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) }
	if wanted("datagram") {
		say("datagrams")
		if c.Datagram, err = measureDatagram(); err != nil {
			return c, err
		}
	}
	for _, k := range kinds {
		if !wanted("world " + k.name) {
			continue
		}
		say("a world of %s", k.name)
		w, err := measureWorld(k)
		if err != nil {
			return c, err
		}
		c.Worlds = append(c.Worlds, w)
	}
	for _, k := range kinds {
		if !wanted("room " + k.name) {
			continue
		}
		say("a server with %d rooms of %s", k.rooms, k.name)
		r, err := measureRoom(k)
		if err != nil {
			return c, err
		}
		c.Runs = append(c.Runs, r)
	}
	for _, w := range appendCases {
		if !wanted("append") {
			break
		}
		say("appends of %d rooms, %d replicas, %d streams", w.Rooms, w.Replicas, w.Streams)
		a, err := measureAppends(w)
		if err != nil {
			return c, err
		}
		c.Appends = append(c.Appends, a)
	}
	return c, nil
}

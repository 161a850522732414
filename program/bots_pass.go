package program

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/play/bots"
	"parley/play/line"
	"parley/protocol/relay"
)

// shares returns how many bots each dialect has, and how many there are in all.
func (f *botsFlags) shares(addrs map[string]string) (counts map[string]int, total int, err error) {
	counts = map[string]int{}
	if f.mix == "" {
		open := slices.DeleteFunc(slices.Clone(bots.Dialects), func(name string) bool {
			return addrs[name] == "" || name == "stamp" && f.ticketKey != "" || // where nobody enters without a ticket it is off
				len(f.tickets) > 0 && !line.HasSessions(name)
		})
		switch {
		case f.count < 1:
			return nil, 0, fmt.Errorf("--count must be at least 1, not %d", f.count)
		case len(open) == 0 && len(f.tickets) > 0:
			return nil, 0, fmt.Errorf("--ticket is for replica, relay and duplex, and %s has none of them; leave it out", f.readyFile)
		case len(open) == 0:
			return nil, 0, fmt.Errorf("--ready-file: %s names no dialect; is it the file of a server?", f.readyFile)
		}
		for i := range f.count {
			counts[open[i%len(open)]]++
		}
		return counts, f.count, nil
	}
	for _, part := range strings.Split(f.mix, ",") {
		name, count, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.Atoi(count)
		switch {
		case err != nil || n < 0 || !line.IsDialect(name):
			return nil, 0, fmt.Errorf("--mix %q: write DIALECT=COUNT; the dialects are %s", part, sentenceList(bots.Dialects, "and"))
		case n > 0 && addrs[name] == "":
			return nil, 0, fmt.Errorf("--mix %q: the dialect is off by %s; leave it out", part, f.readyFile)
		}
		counts[name] += n
		total += n
	}
	if total == 0 {
		return nil, 0, fmt.Errorf("--mix %q asks for no bots; give at least one dialect a count above 0", f.mix)
	}
	return counts, total, nil
}

// checkPass looks at what the command line says of how the bots get in. Without a count there is a bot for each ticket.
func (f *botsFlags) checkPass(counted bool) error {
	switch {
	case len(f.tickets) == 0:
		return checkRoom(f.room)
	case f.ticketKey != "":
		return errors.New("--ticket-key-file makes a ticket for each bot; leave out --ticket, or the key")
	case f.room != "" || f.name != "":
		return errors.New("a ticket has its room and its name in it; leave out --room and --name")
	case !counted && f.mix == "":
		f.count = len(f.tickets)
	}
	return nil
}

// pass returns what makes a ticket for each bot, nil if they have none.
func (f *botsFlags) pass(bots map[string]int) (func(name string) ([]byte, error), error) {
	if len(f.tickets) > 0 {
		return f.given(bots)
	}
	if f.ticketKey == "" {
		return nil, nil
	}
	key, err := f.app.readTicketKey(f.ticketKey)
	if err != nil {
		return nil, fmt.Errorf("--ticket-key-file: %v", err) // a mistake on the command line, as in serve
	}
	return func(name string) ([]byte, error) { return relay.NewTicket(key, f.room, name, f.runFor+time.Minute) }, nil
}

// given returns what hands out the tickets of the command line, each once.
func (f *botsFlags) given(bots map[string]int) (func(name string) ([]byte, error), error) {
	needed := 0
	for dialect, n := range bots {
		if line.HasSessions(dialect) {
			needed += n
		}
	}
	if needed != len(f.tickets) {
		return nil, fmt.Errorf("--ticket has %d of the tickets that %d bots of replica, relay and duplex need; give one for each", len(f.tickets), needed)
	}
	list := make(chan []byte, len(f.tickets))
	for _, text := range f.tickets {
		ticket, err := hex.DecodeString(strings.TrimSpace(text))
		if err != nil || len(ticket) == 0 {
			return nil, fmt.Errorf("--ticket is not hex; give it as \"%s ticket make\" prints it", f.app.name)
		}
		list <- ticket
	}
	return func(string) ([]byte, error) { return <-list, nil }, nil
}

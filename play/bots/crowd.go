package bots

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"parley/play/line"
	"parley/play/message"
)

// Crowd is a group of bots.
type Crowd struct {
	// Addrs are the addresses of the dialects, and Bots the number of bots of each.
	Addrs map[string]string
	Bots  map[string]int

	Config Config
	Seed   uint64

	// Name begins the name of each bot, and a number ends it. Default: bot- and the dialect; over realm, where bots have accounts, bot- and the seed.
	Name string

	// Ticket, if set, returns a ticket for the bot with that name. It is called for dialects
	// that take tickets.
	Ticket func(name string) ([]byte, error)

	// Joined, if set, is called for each bot that has joined or failed to join, by any
	// goroutine.
	Joined func()
}

// Result is the sum of the records of one dialect's bots.
type Result struct {
	Dialect   string        `json:"dialect"`
	Bots      int           `json:"bots"`
	Connected int           `json:"connected"`
	Updates   uint64        `json:"updates"`
	Steered   int           `json:"steered"`
	Seen      int           `json:"seen"`
	Said      int           `json:"said"`
	Heard     int           `json:"heard"`
	Acted     int           `json:"acted"`
	P50       time.Duration `json:"p50_ns"`
	P99       time.Duration `json:"p99_ns"`
	Away      int           `json:"away"`        // how often a connection was lost and its bot tried to come back
	Same      int           `json:"same"`        // how often a bot came back as the same player
	Anew      int           `json:"anew"`        // how often as a new one
	Refused   int           `json:"refused"`     // bots that were not let back in
	AwayP50   time.Duration `json:"away_p50_ns"` // for how long those were away that came back
	AwayMax   time.Duration `json:"away_max_ns"`
	Errors    int           `json:"errors"`
	Error     string        `json:"error,omitempty"` // the error of one bot
}

// joinAtOnce is how many bots join at a time: a crowd that comes at once is a test of another
// kind, and each of realm's costs its server a password.
const joinAtOnce = 16

// Run makes all bots join and play until ctx ends, and returns their results, in the order of
// Dialects.
func (c *Crowd) Run(ctx context.Context) []Result {
	var bots []*Bot
	var wg sync.WaitGroup
	room := make(chan struct{}, joinAtOnce)
	for d, dialect := range Dialects {
		for i := range c.Bots[dialect] {
			b := &Bot{Dialect: dialect}
			bots = append(bots, b)
			wg.Go(func() {
				select {
				case room <- struct{}{}:
				case <-ctx.Done():
					b.missed(ctx, ctx.Err())
					return
				}
				release := sync.OnceFunc(func() {
					<-room
					if c.Joined != nil {
						c.Joined()
					}
				})
				defer release()
				config := c.Config
				config.Name = fmt.Sprintf("%s-%d", cmp.Or(c.Name, fmt.Sprintf("bot-%d", c.Seed%100_000)), i)
				if line.HasSessions(dialect) {
					config.Name = fmt.Sprintf("%s-%d", cmp.Or(c.Name, "bot-"+dialect), i) // people who play among bots see who is one
					config.Room = cmp.Or(config.Room, message.MainRoom)                   // without a room they would be guests without names
				}
				if config.Password == "" {
					config.Password = "a bot's own word"
				}
				config.joined, config.New, config.Stamped = release, true, true
				if c.Ticket != nil && line.HasSessions(dialect) {
					var err error
					if config.Ticket, err = c.Ticket(config.Name); err != nil {
						b.missed(ctx, err)
						return
					}
				}
				b.Run(ctx, c.Addrs[dialect], config, c.Seed<<20+uint64(d)<<16+uint64(i))
			})
		}
	}
	wg.Wait()
	return results(bots)
}

func results(bots []*Bot) (list []Result) {
	for _, dialect := range Dialects {
		r := Result{Dialect: dialect}
		var latencies, absences []time.Duration
		for _, b := range bots {
			if b.Dialect != dialect {
				continue
			}
			t := &b.Tally
			r.Bots++
			r.Updates += t.Updates
			r.Steered, r.Seen, r.Said, r.Heard, r.Acted = r.Steered+t.Steered, r.Seen+t.Seen, r.Said+t.Said, r.Heard+t.Heard, r.Acted+t.Acted
			if t.Connected {
				r.Connected++
			}
			if t.Error != "" {
				r.Errors++
				r.Error = t.Error
			}
			r.Away, r.Same, r.Anew = r.Away+t.Away, r.Same+t.Same, r.Anew+t.Anew
			if t.Refused {
				r.Refused++
			}
			latencies, absences = append(latencies, t.Latencies...), append(absences, t.Absences...)
		}
		if r.Bots == 0 {
			continue
		}
		slices.Sort(latencies)
		if n := len(latencies); n > 0 {
			r.P50, r.P99 = latencies[n/2], latencies[min(n*99/100, n-1)]
		}
		slices.Sort(absences)
		if n := len(absences); n > 0 {
			r.AwayP50, r.AwayMax = absences[n/2], absences[n-1]
		}
		list = append(list, r)
	}
	return list
}

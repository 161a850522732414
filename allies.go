package parley

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/account"
	"parley/cluster/core"
	"parley/internal/bans"
)

// allies are the other servers of a cluster, as this one sees them: bans that hold on all, and players on any.
type allies struct {
	server  *Server
	cluster core.Cluster
	afar    afar
	ctx     context.Context // of what waits for other servers
	cancel  context.CancelFunc
}

func newAllies(s *Server, c core.Cluster) *allies {
	a := &allies{server: s, cluster: c}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// loadTime is how long a server that starts waits for the cluster's bans: it must not run without them.
const loadTime = 30 * time.Second

// Names of bans in the cluster's store: a prefix, or an account.
const (
	netBan     = "net "
	accountBan = "account "
)

// loadBans has the bans of the cluster hold. The cluster has enough nodes.
func (a *allies) loadBans() error {
	ctx, cancel := context.WithTimeout(context.Background(), loadTime)
	defer cancel()
	list, err := a.cluster.Bans(ctx)
	if err != nil {
		return fmt.Errorf("parley: the bans of the cluster: %w", err)
	}
	for name, body := range list {
		if b, ok := readClusterBan(name, body); ok && b.Account == "" {
			a.server.bans.put(b)
		}
	}
	return nil
}

// begin follows the bans, and answers the others. The server runs.
func (a *allies) begin() error {
	a.cluster.WatchBans(a.told)
	return errors.Join(a.cluster.Answer(playersTopic, a.answerPlayers), a.cluster.Answer(matchTopic, a.answerMatch))
}

// clusterBan is what the store has of a ban.
type clusterBan struct {
	Reason string    `json:"reason,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

func clusterBanName(b Ban) string {
	if b.Account != "" {
		return accountBan + account.NameKey(b.Account)
	}
	return netBan + b.Prefix.String()
}

// readClusterBan reads a ban of the store. One that cannot be read is none: it is another version's.
func readClusterBan(name string, body []byte) (b Ban, ok bool) {
	var c clusterBan
	if len(body) > 0 && json.Unmarshal(body, &c) != nil {
		return b, false
	}
	b.Reason, b.Until = c.Reason, c.Until
	if key, is := strings.CutPrefix(name, accountBan); is {
		b.Account = key
		return b, key != ""
	}
	text, is := strings.CutPrefix(name, netBan)
	p, err := ParsePrefix(text)
	b.Prefix = p
	return b, is && err == nil && bans.Canon(p) == p && p.Bits() > 0
}

// ban has a ban hold on all servers. That of an account is in the store of accounts: the others are told so that its player leaves them at once.
func (a *allies) ban(b Ban) error {
	body, err := json.Marshal(clusterBan{b.Reason, b.Until})
	if err != nil {
		return err
	}
	until := b.Until
	if b.Account != "" {
		until = time.Now().Add(time.Minute)
	}
	if err := a.cluster.PutBan(context.Background(), clusterBanName(b), body, until); err != nil {
		return fmt.Errorf("%w: on other servers it may not hold: %w", ErrBanNotKept, err)
	}
	return nil
}

func (a *allies) unban(b Ban) error {
	if err := a.cluster.DeleteBan(context.Background(), clusterBanName(b)); err != nil {
		return fmt.Errorf("%w: on other servers it may hold on: %w", ErrBanNotKept, err)
	}
	return nil
}

// told takes what the store tells of a ban.
func (a *allies) told(name string, body []byte, there bool) {
	s := a.server
	b, ok := readClusterBan(name, body)
	switch {
	case !ok:
	case b.Account != "" && there:
		_ = s.do(func() { s.hub.EvictAccount(b.Reason, b.Account) }) // a server that has ended has no players
	case b.Account != "":
	case !there:
		s.bans.drop(b.Prefix)
	case !b.Until.IsZero() && time.Now().After(b.Until):
	case !s.bans.put(b): // it holds already, or there are too many
	default:
		holds := holdsOf(b.Prefix)
		s.matches.evict(holds)
		_ = s.do(func() { s.hub.EvictAddress(b.Reason, holds) })
	}
}

// ErrSilent means that some servers of the cluster have not answered in time: what they know is missing.
var ErrSilent = errors.New("parley: some servers of the cluster have not answered")

const playersTopic = "parley.players"

// answerPlayers says who is connected to this server, and who is away of the rooms whose entries it makes.
func (a *allies) answerPlayers(context.Context, []byte) []byte {
	list, err := a.server.playersHere()
	if err != nil {
		return nil
	}
	list = slices.DeleteFunc(list, func(p Player) bool { return !p.here })
	text, err := json.Marshal(list)
	if err != nil { // numbers and names
		a.server.Log().Error("the players of this server cannot be told", "err", err)
	}
	return text
}

// players returns the players of all servers. here are those of the rooms that run on this server.
func (a *allies) players(here []Player) ([]Player, error) {
	answers, err := a.cluster.Ask(context.Background(), playersTopic, nil)
	type key struct {
		room string
		id   uint16
	}
	known := map[key]bool{}
	var list []Player
	for node, text := range answers {
		var some []Player
		if json.Unmarshal(text, &some) != nil {
			continue // it ends
		}
		called := a.cluster.Called(node)
		for _, p := range some {
			if k := (key{p.Room, uint16(p.ID)}); !known[k] {
				known[k] = true
				p.Node = called
				list = append(list, p)
			}
		}
	}
	for _, p := range here { // the log has them; their server has not answered
		if !known[key{p.Room, uint16(p.ID)}] {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(p, q Player) int { return cmp.Or(strings.Compare(p.Room, q.Room), cmp.Compare(p.ID, q.ID)) })
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrSilent, err)
	}
	return list, err
}

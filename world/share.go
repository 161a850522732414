package world

import (
	"cmp"
	"slices"
)

// share is how players share Config.ReplayBudget, in ticks that are run again. Each has an account
// that holds at most one whole rewind. The ticks of a rewind are paid by the players whose inputs go
// back that far, in equal parts, and the budget of a tick fills the accounts in equal parts, the
// fullest first: a player who uses little is never short because another uses much.
//
// It counts ticks and not time, so the same inputs are treated the same on every machine. It is no
// part of the state: the log has what it decided, and running the log brings the accounts to what they
// were.
type share struct {
	full     int64  // what an account holds
	grows    int64  // what all get in a tick
	rate     uint64 // ticks a second
	accounts map[PlayerID]*account
	owing    []*account // those that are not full
	late     []lateness // of this tick
}

type account struct {
	player PlayerID
	spent  int64  // full, less what it holds
	deep   uint64 // until when its player has its deep inputs done at once
	place  int    // 1 + its place in late
}

// lateness is how far back the inputs of a player went in this tick.
type lateness struct {
	*account
	ticks uint64
}

// replayUnit is one tick of replay in an account: fine enough for parts of it.
const replayUnit = 1 << 20

func (s *share) init(c *Config) {
	s.grows = int64(c.ReplayBudget) * replayUnit
	s.full = int64(max(c.MaxRollbackTicks, c.ReplayBudget)) * replayUnit
	s.rate = uint64(c.TickRate)
}

// join opens an account with one tick's budget in it: a player who comes back again and again does
// not begin with a rewind each time.
func (s *share) join(p PlayerID) {
	if s.accounts == nil {
		s.accounts = map[PlayerID]*account{}
	}
	a := &account{player: p, spent: s.full - min(s.grows, s.full)}
	s.accounts[p] = a
	if a.spent > 0 {
		s.owing = append(s.owing, a)
	}
}

// leave closes an account.
func (s *share) leave(p PlayerID) {
	a := s.accounts[p]
	if a.place > 0 {
		s.late[a.place-1].ticks = 0 // the others pay
	}
	delete(s.accounts, p)
	s.owing = slices.DeleteFunc(s.owing, func(b *account) bool { return a == b })
}

// affords reports whether a player's input may be done then, so many ticks ago, and not now. further
// says that the world would go back further for it than it does already. The inputs of a player who
// was once too deep in the past stay done now until it was less so for a second: if some of its
// places came then and others now, it would go to and fro.
func (s *share) affords(p PlayerID, now, ticks uint64, further bool) bool {
	a := s.accounts[p]
	return !(further && s.full-a.spent < int64(ticks)*replayUnit) && !(s.isDeep(ticks) && now < a.deep)
}

func (s *share) isDeep(ticks uint64) bool { return int64(ticks)*replayUnit > s.grows }

// putOff says that an input of a player was for so many ticks ago, and is done now.
func (s *share) putOff(p PlayerID, now, ticks uint64) {
	if s.isDeep(ticks) {
		s.accounts[p].deep = now + s.rate
	}
}

// note says that an input of a player went back so many ticks.
func (s *share) note(p PlayerID, ticks uint64) {
	a := s.accounts[p]
	if a.place == 0 {
		s.late = append(s.late, lateness{account: a})
		a.place = len(s.late)
	}
	l := &s.late[a.place-1]
	l.ticks = max(l.ticks, ticks)
}

// settle ends a tick: the rewind is paid, and accounts are filled.
func (s *share) settle() {
	s.pay()
	if len(s.owing) == 0 {
		return
	}
	slices.SortFunc(s.owing, func(a, b *account) int { return cmp.Or(cmp.Compare(a.spent, b.spent), cmp.Compare(a.player, b.player)) })
	left, still := s.grows, s.owing[:0]
	for i, a := range s.owing {
		got := min(a.spent, left/int64(len(s.owing)-i))
		left -= got
		if a.spent -= got; a.spent > 0 {
			still = append(still, a)
		}
	}
	clear(s.owing[len(still):])
	s.owing = still
}

// pay takes what the rewind of this tick cost from those that it was for.
func (s *share) pay() {
	slices.SortFunc(s.late, func(a, b lateness) int {
		return cmp.Or(cmp.Compare(b.ticks, a.ticks), cmp.Compare(a.player, b.player))
	})
	cost, below := int64(0), uint64(0)
	for i := len(s.late) - 1; i >= 0; i-- {
		l := s.late[i]
		l.place = 0
		if l.ticks == 0 {
			continue
		}
		// The ticks that are further back than those of the one after are for the first i + 1.
		cost += int64(l.ticks-below) * replayUnit / int64(i+1)
		below = l.ticks
		if l.spent == 0 {
			s.owing = append(s.owing, l.account)
		}
		l.spent = min(l.spent+cost, s.full)
	}
	clear(s.late)
	s.late = s.late[:0]
}

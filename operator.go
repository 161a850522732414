package parley

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
	"unicode/utf8"

	"parley/account"
	"parley/internal/bans"
)

// Ban keeps an address, a network or an account out. Either Prefix or Account is set.
type Ban struct {
	// Prefix is the banned addresses: a network, or a single address with all its bits (see ParsePrefix). A ban of addresses holds in
	// all dialects, before any work is done for the banned: nothing is answered. An IPv4 address that is written as IPv6 is the IPv4
	// address. An IPv6 player commonly has a /64 or a /56 of its own, so ban that.
	Prefix netip.Prefix

	// Account is the name of a banned account of realm.
	Account string

	// Reason is told to the players whom the ban removes, as "banned: reason". At most 512 bytes. Default none.
	Reason string

	// Until is when the ban ends. Default: never.
	Until time.Time
}

// MaxBans bounds the bans of addresses. Each change writes all of them to the disk, which is 1 to 5 MB at this number. Ban
// larger networks before it is reached.
const MaxBans = 10_000

// maxBanReason bounds the reason of a ban. It is that of package account.
const maxBanReason = 512

// maxBanYear is the last year that JSON writes. With a later one no list of bans could be written any more, to the disk or to the operator.
const maxBanYear = 9999

// Errors of bans. Test for them with errors.Is.
var (
	// ErrNoBan means that there is no such ban.
	ErrNoBan = errors.New("parley: no such ban")
	// ErrTooManyBans means that there are MaxBans bans of addresses.
	ErrTooManyBans = errors.New("parley: too many bans")
	// ErrBan means that a ban is not valid. Its text says why.
	ErrBan = errors.New("parley: not a valid ban")
	// ErrBanNotKept means that a ban holds, or is lifted, until the server ends, and could not be written to the disk.
	ErrBanNotKept = errors.New("parley: the ban is changed, but only until the server ends")
	// ErrNoAccount means that there is no such account.
	ErrNoAccount = errors.New("parley: no such account")
	// ErrNoAnswer means that the store of accounts has not answered in time.
	ErrNoAnswer = errors.New("parley: the store of accounts has not answered in time; it may still do what it was asked")
)

// ParsePrefix reads a network, such as 192.0.2.0/24 or 2001:db8::/56, or a single address, for Ban.
func ParsePrefix(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		a, notAddr := netip.ParseAddr(text)
		if notAddr != nil {
			return netip.Prefix{}, fmt.Errorf("%w: %q is neither an address, such as 192.0.2.7, nor a network, such as 192.0.2.0/24", ErrBan, text)
		}
		p = netip.PrefixFrom(a.WithZone(""), a.BitLen())
	}
	return bans.Canon(p), nil
}

// Ban bans addresses or an account, in place of a ban of the same addresses or account. Players whom it concerns are removed from
// all rooms, also those who are away, and told why. Their sessions are over.
//
// Bans of addresses are kept in the file bans.json in Config.DataDir, and hold again when the server is started again. If the file cannot be
// written, the ban holds all the same, and Ban returns ErrBanNotKept. Bans of accounts are kept by the store of accounts. Ban
// returns ErrNoAccount if there is no such account, ErrNoAnswer if the store does not answer within 8 s, ErrTooManyBans at MaxBans, and
// ErrBan if the ban is not valid.
func (s *Server) Ban(b Ban) error {
	if err := b.check(time.Now()); err != nil {
		return err
	}
	if err := s.mayChange(); err != nil {
		return err
	}
	if b.Account != "" {
		err := s.askAccounts(func(_ context.Context, done func(account.Answer)) error {
			return s.accounts.Ban(b.Account, b.Until, b.Reason, done)
		})
		if err != nil {
			return fmt.Errorf("parley: ban of account %q: %w", b.Account, err)
		}
		err = s.do(func() { s.hub.EvictAccount(b.Reason, b.Account) })
		if s.allies != nil {
			err = errors.Join(err, s.allies.ban(b))
		}
		return err
	}
	b.Prefix = bans.Canon(b.Prefix)
	change, err := s.bans.add(b)
	if err != nil {
		return err
	}
	line := []any{"prefix", b.Prefix, "reason", b.Reason}
	if !b.Until.IsZero() {
		line = append(line, "until", b.Until)
	}
	s.Log().Info("banned", line...)
	if b.Prefix.Addr().IsLoopback() {
		s.Log().Warn("the ban holds this machine itself: players and tools on it cannot connect", "prefix", b.Prefix)
	}
	holds := holdsOf(b.Prefix)
	s.matches.evict(holds)
	err = s.do(func() { s.hub.EvictAddress(b.Reason, holds) })
	if s.allies != nil {
		err = errors.Join(err, s.allies.ban(b))
	}
	return errors.Join(err, s.bans.keep(change)) // last: nobody stays in a room for as long as a slow disk takes
}

// holdsOf reports whether addresses are of a prefix as the doors of the dialects see it: Prefix.Contains has no address with a zone in it.
func holdsOf(p netip.Prefix) func(netip.Addr) bool {
	one := bans.NewTable([]bans.Entry{{Prefix: p}})
	return func(a netip.Addr) bool { return one.Holds(time.Time{}, a) }
}

// Banned reports whether a ban of addresses holds for an address. The dialects look by themselves; it is for other doors of the game, such
// as a website. It does not wait.
func (s *Server) Banned(addr netip.Addr) bool { return s.bans.set.Holds(time.Now(), addr) }

// Unban lifts the ban of the same addresses or the same account. It returns ErrNoBan if there is none. A ban of a network is lifted
// as a whole.
func (s *Server) Unban(b Ban) error {
	if err := b.check(time.Time{}); err != nil {
		return err
	}
	if err := s.mayChange(); err != nil {
		return err
	}
	if b.Account == "" {
		b.Prefix = bans.Canon(b.Prefix)
		change, err := s.bans.remove(b.Prefix)
		if err != nil {
			return err
		}
		s.Log().Info("ban lifted", "prefix", b.Prefix)
		if s.allies != nil {
			return s.allies.unban(b)
		}
		return s.bans.keep(change)
	}
	err := s.askAccounts(func(ctx context.Context, done func(account.Answer)) error {
		r, err := s.store.Find(ctx, account.NameKey(b.Account))
		switch {
		case errors.Is(err, account.ErrNotFound):
			return ErrNoAccount
		case err != nil:
			return err
		case !r.Ban.Holds(time.Now()):
			return ErrNoBan
		}
		return s.accounts.Unban(b.Account, done)
	})
	if err != nil {
		return fmt.Errorf("parley: ban of account %q: %w", b.Account, err)
	}
	return nil
}

// Bans returns the bans that hold: those of addresses in their order, then those of accounts by name. It goes through all accounts,
// so it takes a second for some 100,000 of them. It returns ErrNoAnswer if the store of accounts does not answer within 15 s.
func (s *Server) Bans() ([]Ban, error) {
	list := s.bans.list(time.Now())
	if s.store == nil {
		return list, nil
	}
	if err := s.mayChange(); err != nil {
		return nil, err
	}
	var accounts []Ban
	if err := askStore(listPatience, func(ctx context.Context) (err error) { accounts, err = bannedAccounts(ctx, s.store); return err }); err != nil {
		return nil, fmt.Errorf("parley: bans of accounts: %w", err)
	}
	return append(list, accounts...), nil
}

// check refuses a ban that cannot be, or that is over at the time now.
func (b *Ban) check(now time.Time) error {
	switch {
	case b.Account != "" && b.Prefix != netip.Prefix{}:
		return fmt.Errorf("%w: it has both a prefix and an account: ban each by itself", ErrBan)
	case b.Account == "" && !b.Prefix.IsValid():
		return fmt.Errorf("%w: it has neither a prefix nor an account", ErrBan)
	case b.Account == "" && bans.Canon(b.Prefix).Bits() == 0:
		return fmt.Errorf("%w: %v is every address: to let nobody in, stop the server", ErrBan, b.Prefix)
	case len(b.Reason) > maxBanReason:
		return fmt.Errorf("%w: a reason of %d bytes: the limit is %d", ErrBan, len(b.Reason), maxBanReason)
	case !utf8.ValidString(b.Reason):
		return fmt.Errorf("%w: the reason is not UTF-8", ErrBan)
	case b.Until.UTC().Year() > maxBanYear:
		return fmt.Errorf("%w: it ends in the year %d: give one up to %d, or none for ever", ErrBan, b.Until.UTC().Year(), maxBanYear)
	case !now.IsZero() && !b.Until.IsZero() && !now.Before(b.Until):
		return fmt.Errorf("%w: it ends at %v, which is over", ErrBan, b.Until.Format(time.RFC3339))
	}
	return nil
}

// mayChange returns why the operator has to wait, or is late.
func (s *Server) mayChange() error {
	if s.hub.Playing() {
		return ErrInStep
	}
	select {
	case <-s.done:
		return ErrClosed
	default:
		return nil
	}
}

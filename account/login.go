package account

import (
	"errors"
	"net/netip"
	"time"
)

// Login checks a password and begins a session. The results are OK, Unknown, WrongPassword, TooMany, AlreadyIn, Full and
// Banned; the last three only with the right password. If the connection is gone when the answer comes, call Logout on its
// Session.
func (s *Service) Login(from netip.Addr, name, password string, done func(Answer)) error {
	return s.guess(&job{from: Source(from), password: password, done: done, hash: s.hashLogin}, name)
}

// ChangePassword sets a new password if the old one is right. The results are OK, BadPassword (for the new one), Unknown,
// WrongPassword, TooMany and Banned. The account's session, if any, goes on.
func (s *Service) ChangePassword(from netip.Addr, name, password, next string, done func(Answer)) error {
	j := &job{from: Source(from), password: password, next: next, done: done, hash: s.hashChange}
	if CheckPassword(next) != nil {
		return s.enter(j, BadPassword)
	}
	return s.guess(j, name)
}

// Delete removes an account if the password is right, and ends its session. The results are OK, Unknown, WrongPassword,
// TooMany and Banned: a banned player cannot delete the account and register the name again.
func (s *Service) Delete(from netip.Addr, name, password string, done func(Answer)) error {
	return s.guess(&job{from: Source(from), password: password, done: done, hash: s.hashDelete}, name)
}

// guess takes a request that stands or falls with a password.
func (s *Service) guess(j *job, name string) error {
	n, err := ParseName(name)
	j.name, j.guesses, j.look = n, true, s.lookGuess
	now := time.Now()
	s.mu.Lock()
	if s.judge(now, j) == mayNot {
		s.mu.Unlock()
		return s.enter(j, TooMany)
	}
	// What cannot be right is not looked up and not hashed. That tells nothing of any account,
	// as it does not depend on one.
	refuse := Result(0)
	switch {
	case err != nil:
		refuse = s.UnknownName()
	case len(j.password) > maxPasswordBytes:
		refuse = WrongPassword
	}
	if refuse != 0 && j.from.IsValid() {
		s.addresses.fail(now, j.from)
	}
	s.mu.Unlock()
	return s.enter(j, refuse)
}

// UnknownName returns the result of a log-in by a name that no account has: Unknown, or WrongPassword with Config.HideUnknown.
func (s *Service) UnknownName() Result {
	if s.config.HideUnknown {
		return WrongPassword
	}
	return Unknown
}

// judge says whether a password may be tried. "Names and addresses are counted apart and the
// reply comes before any hashing; an address that logged in to that name within 30 days is not
// held to the name's count." (realm.md, Login) Before it is known whether the address is one of those, the
// name does not count. Under the lock.
func (s *Service) judge(now time.Time, j *job) verdict {
	if !j.guesses || !j.from.IsValid() {
		return mayTry
	}
	v := s.addresses.check(now, j.from)
	if v == mayNot || j.known || j.record.Key == "" {
		return v
	}
	return max(v, s.names.check(now, j.name.Key))
}

func (s *Service) beginTry(now time.Time, j *job) {
	if j.guesses && j.from.IsValid() {
		s.addresses.begin(now, j.from)
		s.names.begin(now, j.name.Key)
	}
}

func (s *Service) endTry(j *job, failed bool) {
	if !j.guesses || !j.from.IsValid() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.addresses.end(now, j.from, failed)
	s.names.end(now, j.name.Key, failed)
	s.wake.Broadcast() // those that had to wait for this
}

// lookGuess finds the account and whether it is known from the address. A name without an account goes the same way,
// so that it takes the same time.
func (s *Service) lookGuess(j *job) {
	ctx, cancel := s.storeContext()
	defer cancel()
	r, err := s.store.Find(ctx, j.name.Key)
	if err != nil && !errors.Is(err, ErrNotFound) {
		s.fail(j, err)
		return
	}
	var seen time.Time
	if j.from.IsValid() {
		// Also for an ID of 0, which no account has.
		if seen, err = s.store.Known(ctx, r.ID, j.from); err != nil {
			s.fail(j, err)
			return
		}
	}
	j.known = !seen.IsZero() && time.Since(seen) < knownFor
	j.record = r
	j.record.Key = j.name.Key // from now on, judge counts the name
	s.toHash(j)
}

// try hashes the password and reports whether it is right; if not, the job is
// answered. Each try takes one hash, whether there is such an account or not.
func (s *Service) try(j *job) bool {
	d, ok := parseDigest(j.record.Hash)
	if !ok {
		d = s.dummy
		if j.record.Hash != "" {
			s.mu.Lock()
			s.stats.BadHashes++
			s.mu.Unlock()
		}
	}
	fits := false
	s.countHash(func() { fits = d.fits(j.password) })
	fits = fits && ok
	s.endTry(j, !fits)
	switch {
	case fits:
		return true
	case j.record.ID == 0:
		s.reply(j, Answer{Result: s.UnknownName()})
	default:
		s.reply(j, Answer{Result: WrongPassword})
	}
	return false
}

func (s *Service) hashLogin(j *job) {
	if !s.try(j) {
		return
	}
	now := time.Now()
	s.mu.Lock()
	x, result := s.beginSession(j.record.Account, now)
	s.mu.Unlock()
	if x == nil {
		// A ban is the graver reason, and the account's owner may know of it.
		if j.record.Ban.Holds(now) {
			result = Banned
		}
		s.reply(j, Answer{Result: result})
		return
	}
	a := s.openSession(j, x)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case a.Result != OK:
		s.endSession(x, EndLogout)
	case x.end == EndBanned: // while the log-in was under way
		a = Answer{Result: Banned, Account: a.Account}
	case x.end != 0:
		a = Answer{Result: s.UnknownName()}
	default:
		x.account, x.told = a.Account, true
		a.Session = x
	}
	s.answer(j, a)
}

// openSession reads the account again, as it may have been banned or changed while the job waited. The session has its place
// already: so who bans from now on finds it there.
func (s *Service) openSession(j *job, x *Session) Answer {
	r, result, err := s.again(j)
	if result != OK {
		return Answer{Result: result, Account: r.Account, Err: err}
	}
	ctx, cancel := s.storeContext()
	defer cancel()
	err = s.store.Enter(ctx, r.ID, Visit{At: x.began, From: j.from, Forget: x.began.Add(-knownFor)})
	switch {
	case errors.Is(err, ErrNotFound):
		return Answer{Result: s.UnknownName()}
	case err != nil:
		// A full disk is no reason to keep players out.
		s.mu.Lock()
		s.stats.NotNoted++
		s.mu.Unlock()
	}
	r.LastLogin = x.began
	return Answer{Result: OK, Account: r.Account}
}

// again reads the account once more after the hash, and says if the password that was right still is.
func (s *Service) again(j *job) (Record, Result, error) {
	ctx, cancel := s.storeContext()
	defer cancel()
	r, err := s.store.Find(ctx, j.name.Key)
	switch {
	case errors.Is(err, ErrNotFound):
		return Record{}, s.UnknownName(), nil
	case err != nil:
		return Record{}, Failed, err
	case r.ID != j.record.ID || r.Hash != j.record.Hash:
		return Record{}, WrongPassword, nil
	case r.Ban.Holds(time.Now()):
		return Record{Account: r.Account}, Banned, nil
	}
	return r, OK, nil
}

func (s *Service) hashChange(j *job) {
	if !s.try(j) {
		return
	}
	hash := s.newHash(j.next)
	r, result, err := s.again(j)
	if result != OK {
		s.reply(j, Answer{Result: result, Account: r.Account, Err: err})
		return
	}
	ctx, cancel := s.storeContext()
	defer cancel()
	err = s.store.SetPassword(ctx, r.ID, hash)
	if err == nil && j.from.IsValid() {
		// All addresses are forgotten with the old password, but here is who set the new one.
		now := time.Now()
		err = s.store.Enter(ctx, r.ID, Visit{At: now, From: j.from, Forget: now.Add(-knownFor)})
	}
	s.replyWrite(j, r, err)
}

func (s *Service) hashDelete(j *job) {
	if !s.try(j) {
		return
	}
	r, result, err := s.again(j)
	if result != OK {
		s.reply(j, Answer{Result: result, Account: r.Account, Err: err})
		return
	}
	s.remove(j, r)
}

// replyWrite answers a job by how its last write went.
func (s *Service) replyWrite(j *job, r Record, err error) {
	switch {
	case errors.Is(err, ErrNotFound):
		s.reply(j, Answer{Result: Unknown})
	case err != nil:
		s.fail(j, err)
	default:
		s.reply(j, Answer{Result: OK, Account: r.Account})
	}
}

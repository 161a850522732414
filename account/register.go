package account

import (
	"errors"
	"net/netip"
	"time"
)

// Register makes an account. The results are OK, Taken, BadName, BadPassword, TooMany and
// Disabled. OK is durable: the account then survives kill -9 and power loss. Register does
// not log in.
func (s *Service) Register(from netip.Addr, name, password string, done func(Answer)) error {
	n, nameErr := ParseName(name)
	j := &job{from: Source(from), name: n, password: password, done: done, look: s.lookRegister, hash: s.hashRegister}
	switch {
	case s.config.NoRegistration && j.from.IsValid():
		return s.enter(j, Disabled)
	case nameErr != nil || Reserved(name):
		return s.enter(j, BadName)
	case CheckPassword(password) != nil:
		return s.enter(j, BadPassword)
	case !s.mayRegister(j.from):
		return s.enter(j, TooMany)
	}
	return s.enter(j, 0)
}

// mayRegister counts a try. What a name or a password that cannot be costs us is not worth
// counting, and the player who corrects it should not have to wait.
func (s *Service) mayRegister(from netip.Prefix) bool {
	if !from.IsValid() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.registrations.check(now, from) != mayTry {
		return false
	}
	s.registrations.fail(now, from)
	return true
}

// lookRegister saves the hash for a name that is taken.
func (s *Service) lookRegister(j *job) {
	ctx, cancel := s.storeContext()
	defer cancel()
	switch _, err := s.store.Find(ctx, j.name.Key); {
	case errors.Is(err, ErrNotFound):
		s.toHash(j)
	case err != nil:
		s.fail(j, err)
	default:
		s.reply(j, Answer{Result: Taken})
	}
}

func (s *Service) hashRegister(j *job) {
	r := Record{Account: Account{Name: j.name.Shown}, Key: j.name.Key, Hash: s.newHash(j.password)}
	ctx, cancel := s.storeContext()
	defer cancel()
	r.Created = time.Now()
	switch r, err := s.store.Create(ctx, r); {
	case errors.Is(err, ErrTaken):
		s.reply(j, Answer{Result: Taken})
	case err != nil:
		s.fail(j, err)
	default:
		s.reply(j, Answer{Result: OK, Account: r.Account})
	}
}

package account

import (
	"errors"
	"time"
	"unicode/utf8"
)

// Ban keeps an account out until a time, or for ever if the time is zero, and ends its session. The reason is
// cut off at 512 bytes. The results are OK and Unknown.
func (s *Service) Ban(name string, until time.Time, reason string, done func(Answer)) error {
	return s.operate(&job{ban: Ban{Since: time.Now(), Until: until, Reason: cut(reason)}, done: done}, name, s.setBan)
}

// Unban lifts an account's ban. The results are OK and Unknown.
func (s *Service) Unban(name string, done func(Answer)) error {
	return s.operate(&job{done: done}, name, s.setBan)
}

// SetPassword sets a new password without the old one. The results are OK, BadPassword and Unknown.
func (s *Service) SetPassword(name, next string, done func(Answer)) error {
	j := &job{next: next, done: done, hash: s.hashSet}
	if CheckPassword(next) != nil {
		return s.enter(j, BadPassword)
	}
	return s.operate(j, name, func(j *job, _ Record) { s.toHash(j) })
}

// Remove deletes an account without its password, and ends its session. The results are OK and Unknown.
func (s *Service) Remove(name string, done func(Answer)) error {
	return s.operate(&job{done: done}, name, s.remove)
}

// operate takes a request of the operator: then is called with the account.
func (s *Service) operate(j *job, name string, then func(*job, Record)) error {
	n, err := ParseName(name)
	if err != nil {
		return s.enter(j, Unknown)
	}
	j.name = n
	j.look = func(j *job) {
		ctx, cancel := s.storeContext()
		defer cancel()
		r, err := s.store.Find(ctx, n.Key)
		switch {
		case errors.Is(err, ErrNotFound):
			s.reply(j, Answer{Result: Unknown})
		case err != nil:
			s.fail(j, err)
		default:
			j.record = r
			then(j, r)
		}
	}
	return s.enter(j, 0)
}

func (s *Service) setBan(j *job, r Record) {
	ctx, cancel := s.storeContext()
	defer cancel()
	err := s.store.SetBan(ctx, r.ID, j.ban)
	if err == nil && j.ban.Holds(time.Now()) {
		s.mu.Lock()
		if x := s.sessions[r.ID]; x != nil {
			x.ban = j.ban
			s.endSession(x, EndBanned)
		}
		s.mu.Unlock()
	}
	r.Ban = j.ban
	s.replyWrite(j, r, err)
}

func (s *Service) hashSet(j *job) {
	hash := s.newHash(j.next)
	ctx, cancel := s.storeContext()
	defer cancel()
	s.replyWrite(j, j.record, s.store.SetPassword(ctx, j.record.ID, hash))
}

func (s *Service) remove(j *job, r Record) {
	ctx, cancel := s.storeContext()
	defer cancel()
	err := s.store.Delete(ctx, r.ID)
	if err == nil {
		s.endOf(r.ID, EndDeleted)
	}
	s.replyWrite(j, r, err)
}

// cut shortens a text to what a reason may have, and makes it one that every store can keep.
func cut(s string) string {
	b := []byte(nil)
	for _, r := range s {
		if r == 0 {
			r = utf8.RuneError
		}
		if len(b)+utf8.RuneLen(r) > maxReasonBytes {
			break
		}
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}

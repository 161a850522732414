package account

import "time"

// A Session is an account that is logged in. An account has at most one.
type Session struct {
	service *Service
	account Account
	began   time.Time

	// Under the service's lock:
	told bool      // the answer that brings the session is on its way
	end  EndReason // why it is over; 0 while it is not
	ban  Ban       // that ended it
}

// An EndReason is the reason why a session ended.
type EndReason uint8

// The reasons why a session ends.
const (
	EndLogout  EndReason = iota + 1 // Logout was called
	EndBanned                       // the account was banned
	EndDeleted                      // the account was deleted
	EndClosed                       // the Service was closed
)

var endNames = [...]string{"unset", "logged out", "banned", "deleted", "closed"}

// String returns the reason in words.
func (e EndReason) String() string {
	if int(e) >= len(endNames) {
		e = 0
	}
	return endNames[e]
}

// Account returns the account as it was at the log-in.
func (x *Session) Account() Account { return x.account }

// Began returns the time of the log-in.
func (x *Session) Began() time.Time { return x.began }

// End returns the reason why the session ended, or 0 while it lasts.
func (x *Session) End() EndReason {
	x.service.mu.Lock()
	defer x.service.mu.Unlock()
	return x.end
}

// Ban returns the ban that ended the session. It is the zero Ban if none did, or if another process banned the account.
func (x *Session) Ban() Ban {
	x.service.mu.Lock()
	defer x.service.mu.Unlock()
	return x.ban
}

// Logout ends the session, so that the account can log in again. Call it when the connection
// of a session is gone, even if that happened while the log-in was under way. It does not
// block, and a second call does nothing.
func (x *Session) Logout() {
	x.service.mu.Lock()
	defer x.service.mu.Unlock()
	x.service.endSession(x, EndLogout)
}

// beginSession takes the account's place, or says why there is none. Under the lock.
func (s *Service) beginSession(a Account, now time.Time) (*Session, Result) {
	switch {
	case s.sessions[a.ID] != nil:
		return nil, AlreadyIn
	case s.config.MaxSessions > 0 && len(s.sessions) >= s.config.MaxSessions:
		return nil, Full
	}
	x := &Session{service: s, account: a, began: now}
	s.sessions[a.ID] = x
	return x, OK
}

// endSession ends a session that may have ended already. Under the lock.
func (s *Service) endSession(x *Session, why EndReason) {
	if x == nil || x.end != 0 {
		return
	}
	x.end = why
	delete(s.sessions, x.account.ID)
	if x.told && why != EndLogout && why != EndClosed && s.config.OnEnd != nil {
		s.tell(func() { s.config.OnEnd(x, why) })
	}
}

// endOf ends the session that an account has, if any.
func (s *Service) endOf(id ID, why EndReason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endSession(s.sessions[id], why)
}

// recheck reads the accounts of the sessions again from time to time, as another process may
// have banned or deleted them.
func (s *Service) recheck() {
	ticker := time.NewTicker(s.config.Recheck)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
		s.check()
		ids := s.sessionIDs()
		for len(ids) > 0 {
			n := min(len(ids), recheckAtOnce)
			s.recheckSome(ids[:n])
			ids = ids[n:]
		}
	}
}

func (s *Service) sessionIDs() []ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]ID, 0, len(s.sessions))
	for id := range s.sessions {
		ids = append(ids, id)
	}
	return ids
}

func (s *Service) recheckSome(ids []ID) {
	ctx, cancel := s.storeContext()
	defer cancel()
	banned, deleted, err := s.store.Ousted(ctx, ids, time.Now())
	if err != nil {
		// Whether they are banned is not known, and will be asked again.
		s.mu.Lock()
		s.stats.RecheckFailed++
		s.mu.Unlock()
		return
	}
	for _, id := range banned {
		s.endOf(id, EndBanned)
	}
	for _, id := range deleted {
		s.endOf(id, EndDeleted)
	}
}

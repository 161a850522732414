package account

// Stats are the counters of a Service. Requests is the sum of Results and Unanswered, except that an
// answered request whose callback has not returned yet is in both.
type Stats struct {
	Requests uint64            // accepted
	Refused  uint64            // not accepted: ErrBusy
	Results  map[Result]uint64 // the results of accepted requests

	Hashes        uint64 // passwords hashed
	Hashing       int    // passwords being hashed now
	MaxHashing    int    // the most hashed at once so far
	BadHashes     uint64 // hashes in the store that could not be read; no password matches them
	NotNoted      uint64 // log-ins that the store could not record
	RecheckFailed uint64 // failed attempts to read the accounts of sessions again
	StoreFailed   uint64 // calls of the store that failed, those of requests included

	Sessions   int // now
	Waiting    int // requests waiting for a reader or a hasher
	Unanswered int // requests whose callback has not returned

	results [resultCount]uint64
}

// Stats returns the counters.
func (s *Service) Stats() Stats {
	s.trouble.mu.Lock()
	failed := s.trouble.failed
	s.trouble.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.StoreFailed = failed
	stats.Results = make(map[Result]uint64)
	for r, n := range stats.results {
		if n > 0 {
			stats.Results[Result(r)] = n
		}
	}
	stats.Sessions, stats.Unanswered = len(s.sessions), s.unanswered
	stats.Waiting = len(s.looks.jobs) + len(s.known.jobs) + len(s.strange.jobs)
	return stats
}

// countHash runs a hash and counts it.
func (s *Service) countHash(f func()) {
	s.mu.Lock()
	s.stats.Hashes++
	s.stats.Hashing++
	s.stats.MaxHashing = max(s.stats.MaxHashing, s.stats.Hashing)
	s.mu.Unlock()
	f()
	s.mu.Lock()
	s.stats.Hashing--
	s.mu.Unlock()
}

// newHash hashes a new password.
func (s *Service) newHash(password string) (text string) {
	s.countHash(func() { text = newDigest(s.config.cost, password).String() })
	return text
}

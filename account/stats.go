package account

// Stats counts what a Service did. Requests is the sum of Results and Unanswered, but for the answers whose
// callback has not returned yet, which are in both.
type Stats struct {
	Requests uint64            // taken
	Refused  uint64            // not taken: ErrBusy
	Results  map[Result]uint64 // how those that were taken ended

	Hashes        uint64 // passwords hashed
	Hashing       int    // that are being hashed now
	MaxHashing    int    // most at once so far
	BadHashes     uint64 // hashes in the store that could not be read; no password fits them
	NotNoted      uint64 // log-ins that the store could not put on record
	RecheckFailed uint64 // times that the accounts of sessions could not be read again

	Sessions   int // now
	Waiting    int // requests that wait for a reader or a hasher
	Unanswered int // requests whose callback has not returned

	results [resultCount]uint64
}

// Stats returns the counters.
func (s *Service) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
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

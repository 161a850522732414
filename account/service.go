package account

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"sync"
	"time"
)

// Errors of a call whose callback is never called.
var (
	// ErrBusy is returned when too many requests are unanswered.
	ErrBusy = errors.New("account: too many requests are unanswered")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("account: the service is closed")
)

// A Service registers players and logs them in. Its methods may be called from any goroutine. They do not wait for the store or
// for a hash: they take the request and return. If they return nil, done is called once with the answer, unless done is nil. One
// goroutine of the Service calls all callbacks, one after the other: a callback that blocks delays all answers.
//
// Names are as players type them, in all methods. from is the player's address, which is throttled. The zero Addr is the
// operator, who is not throttled.
type Service struct {
	config  Config
	store   watched
	trouble trouble
	dummy   digest

	mu      sync.Mutex
	wake    sync.Cond // readers, hashers and the teller wait here
	looks   *lane     // jobs that need a look into the store
	known   *lane     // jobs that need a hash, from an address that the account is known from
	strange *lane     // and from one that it is not
	byKnown bool      // known has been served last
	shedAt  time.Time // see shed

	names         *throttle[string]
	addresses     *throttle[netip.Prefix]
	registrations *throttle[netip.Prefix]

	sessions   map[ID]*Session
	answers    []func() // callbacks to be made
	unanswered int
	closed     bool
	told       bool // nothing will be added to answers
	stats      Stats

	stop    chan struct{}
	working sync.WaitGroup // all but the teller
	telling sync.WaitGroup
}

// A job is a request on its way.
type job struct {
	from netip.Prefix
	turn uint64    // see lane
	at   time.Time // when it came

	name     Name
	password string
	next     string // the new password
	ban      Ban
	done     func(Answer)

	look func(*job) // by a reader: asks the store
	hash func(*job) // by a hasher: hashes, and writes to the store

	record  Record // what look found
	known   bool   // from is an address that the account is known from
	guesses bool   // a password is tried, so the throttles count
}

// New starts a Service on a store. The caller closes the store, after the Service.
func New(store Store, config Config) *Service {
	config = config.withDefaults()
	now := time.Now()
	s := &Service{
		config: config, trouble: trouble{log: config.Log}, dummy: dummyDigest(config.cost),
		looks: newLane(config.Queue), known: newLane(config.Queue), strange: newLane(config.Queue),
		names:         newThrottle[string](now, config.Failures),
		addresses:     newThrottle[netip.Prefix](now, config.Failures),
		registrations: newThrottle[netip.Prefix](now, config.Registrations),
		sessions:      make(map[ID]*Session),
		stop:          make(chan struct{}),
	}
	s.store = watched{store, &s.trouble}
	s.wake.L = &s.mu
	for range readers {
		s.working.Go(func() { s.work(s.nextLook, func(j *job) { j.look(j) }) })
	}
	for range config.HashAtOnce {
		s.working.Go(func() { s.work(s.nextHash, func(j *job) { j.hash(j) }) })
	}
	if config.Recheck > 0 {
		s.working.Go(s.recheck)
	}
	s.telling.Go(s.teller)
	return s
}

// Close answers Closed to all waiting requests, lets requests under way finish, and ends all sessions without calling OnEnd. It
// returns when the last callback has returned, so a callback must not call it.
func (s *Service) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.stop)
		for _, l := range []*lane{s.looks, s.known, s.strange} {
			for j := l.pop(); j != nil; j = l.pop() {
				s.answer(j, Answer{Result: Closed})
			}
		}
		s.wake.Broadcast()
	}
	s.mu.Unlock()
	s.working.Wait()

	s.mu.Lock()
	for _, x := range s.sessions {
		s.endSession(x, EndClosed)
	}
	s.told = true
	s.wake.Broadcast()
	s.mu.Unlock()
	s.telling.Wait()
}

// enter takes a request, or answers it at once with refuse if that is not zero. Under no lock.
func (s *Service) enter(j *job, refuse Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.unanswered >= unansweredQueues*s.config.Queue:
		s.stats.Refused++
		return ErrBusy
	}
	s.unanswered++
	s.stats.Requests++
	j.at = time.Now()
	if refuse != 0 {
		s.answer(j, Answer{Result: refuse})
		return nil
	}
	s.put(s.looks, j)
	return nil
}

// put queues a job. Under the lock.
func (s *Service) put(l *lane, j *job) {
	if s.closed {
		s.answer(j, Answer{Result: Closed})
		return
	}
	if lost := l.push(j); lost != nil {
		s.answer(lost, Answer{Result: Busy})
	}
	s.wake.Broadcast()
}

// toHash queues a job for a hasher.
func (s *Service) toHash(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.known || !j.from.IsValid() {
		s.put(s.known, j)
	} else {
		s.put(s.strange, j)
	}
}

// work does jobs until the Service is closed.
func (s *Service) work(next func() *job, do func(*job)) {
	for {
		s.mu.Lock()
		j := next()
		for j == nil && !s.closed {
			s.wake.Wait()
			j = next()
		}
		s.mu.Unlock()
		if j == nil {
			return
		}
		do(j)
		// A reader with a thousand jobs would keep its core for 10 ms at a time, and with it a tick that is due: with this, for one
		// job (BenchmarkTickUnderLogins: 7 ms late without).
		runtime.Gosched()
	}
}

// nextLook takes a job for a reader. Under the lock.
func (s *Service) nextLook() *job {
	s.shed(time.Now())
	return s.looks.pop()
}

// shed answers the jobs that have waited too long, about once a second: their players are to be told while they are still
// there. Nobody waits so long for a store that answers. Under the lock.
func (s *Service) shed(now time.Time) {
	if now.Sub(s.shedAt) < time.Second {
		return
	}
	s.shedAt = now
	s.shedLane(s.looks, now.Add(-storeTimeout))
	s.shedLane(s.known, now.Add(-maxHashWait))
	s.shedLane(s.strange, now.Add(-maxHashWait))
}

// shedLane answers the jobs of a lane that came before a time.
func (s *Service) shedLane(l *lane, before time.Time) {
	for i := 0; i < len(l.jobs); {
		if l.jobs[i].at.After(before) {
			i++
			continue
		}
		s.answer(l.remove(i), Answer{Result: Busy})
	}
}

// nextHash takes a job for a hasher, by turns from known and from strange addresses: so neither a flood of
// strangers keeps the known ones out nor the other way round. Under the lock.
func (s *Service) nextHash() *job {
	first, second := s.known, s.strange
	if s.byKnown {
		first, second = second, first
	}
	now := time.Now()
	s.shed(now)
	j := s.takeHash(now, first)
	if j == nil {
		j = s.takeHash(now, second)
	}
	if j != nil {
		s.byKnown = j.known || !j.from.IsValid()
	}
	return j
}

// takeHash takes the first job that the throttles let through, and answers those that they do
// not. A job that has to wait for others stays.
func (s *Service) takeHash(now time.Time, l *lane) *job {
	for i := 0; i < len(l.jobs); {
		switch j := l.jobs[i]; s.judge(now, j) {
		case mayTry:
			s.beginTry(now, j)
			return l.take(i)
		case mayNot:
			s.answer(l.remove(i), Answer{Result: TooMany})
		case mustWait:
			i++
		}
	}
	return nil
}

// answer has a job's callback called. Under the lock.
func (s *Service) answer(j *job, a Answer) {
	s.stats.results[a.Result]++
	s.tell(func() {
		if j.done != nil {
			j.done(a)
		}
		s.mu.Lock()
		s.unanswered--
		s.mu.Unlock()
	})
}

// reply is answer for callers that do not hold the lock.
func (s *Service) reply(j *job, a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer(j, a)
}

// fail answers a job whose store failed. Under no lock.
func (s *Service) fail(j *job, err error) { s.reply(j, Answer{Result: Failed, Err: err}) }

// tell adds a callback. Under the lock.
func (s *Service) tell(f func()) {
	s.answers = append(s.answers, f)
	s.wake.Broadcast()
}

// teller makes the callbacks, in order.
func (s *Service) teller() {
	for {
		s.mu.Lock()
		for len(s.answers) == 0 && !s.told {
			s.wake.Wait()
		}
		answers := s.answers
		s.answers = nil
		s.mu.Unlock()
		if len(answers) == 0 {
			return
		}
		for _, f := range answers {
			f()
		}
	}
}

// storeContext bounds what the store may take for one request.
func (s *Service) storeContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), storeTimeout)
}

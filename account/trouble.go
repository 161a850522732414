package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"
)

// trouble is what is known of a store that fails: for the log, which has a line at most once a minute, and for Trouble.
// Reading and writing are judged apart: on a full disk accounts can still be found, and a success of the one would hide
// that the other fails.
type trouble struct {
	log *slog.Logger // nil: none

	mu     sync.Mutex
	reads  health
	writes health
	failed uint64    // in all
	unsaid uint64    // of those, how many no line has counted
	said   time.Time // the last line that the store fails
	spoken bool      // that line has had no line yet that the store is back

	checking time.Time // when the check under way began; zero if there is none
}

// health is how one sort of calls goes.
type health struct {
	err    error     // of the newest call; nil if that went well
	since  time.Time // the first failure since the last success
	last   time.Time // the newest
	failed uint64    // failures since the last success
}

// Trouble returns why accounts cannot be used now, or nil: the store fails, or takes longer than 10 s. The store is looked at
// every Config.Recheck, so that Trouble is true also of a server that nobody logs in to. A failed write counts until the next
// one that goes well, but no longer than a minute.
func (s *Service) Trouble() error {
	t := &s.trouble
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	switch {
	case t.reads.err != nil:
		return t.reads.report("read")
	case t.writes.err != nil && now.Sub(t.writes.last) < troubleFor:
		return t.writes.report("write")
	case !t.checking.IsZero() && now.Sub(t.checking) > storeTimeout:
		return fmt.Errorf("account: the store has not answered since %s", t.checking.Format(time.TimeOnly))
	}
	return nil
}

func (h *health) report(what string) error {
	return fmt.Errorf("account: the store fails to %s, %d times since %s: %w", what, h.failed, h.since.Format(time.TimeOnly), h.err)
}

// note takes the result of a call of the store.
func (t *trouble) note(h *health, err error) {
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrTaken), errors.Is(err, ErrBadText):
		err = nil // the store has answered
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		*h = health{}
		if t.spoken && t.reads.err == nil && t.writes.err == nil {
			t.spoken = false
			t.tell(slog.LevelInfo, "the store of accounts works again", "failures", t.unsaid)
		}
		return
	}
	if h.err == nil {
		h.since = now
	}
	h.err, h.last = err, now
	h.failed++
	t.failed++
	t.unsaid++
	if t.said.IsZero() || now.Sub(t.said) >= troubleEvery {
		t.said, t.spoken = now, true
		t.tell(slog.LevelError, "the store of accounts fails: players are told to try again later", "failures", t.unsaid, "err", err)
	}
}

// tell writes a line, which counts the failures since the line before. Under the lock.
func (t *trouble) tell(level slog.Level, text string, pairs ...any) {
	t.unsaid = 0
	if t.log != nil {
		t.log.Log(context.Background(), level, text, pairs...)
	}
}

// check looks into the store, whether or not anybody else does.
func (s *Service) check() {
	t := &s.trouble
	t.mu.Lock()
	t.checking = time.Now()
	t.mu.Unlock()
	ctx, cancel := s.storeContext()
	defer cancel()
	_, _ = s.store.Find(ctx, "") // nobody's name; what comes of it is noted
	t.mu.Lock()
	t.checking = time.Time{}
	t.mu.Unlock()
}

// watched is a store whose results are noted.
type watched struct {
	Store
	*trouble
}

func (w watched) read(err error)  { w.note(&w.reads, err) }
func (w watched) wrote(err error) { w.note(&w.writes, err) }

func (w watched) Find(ctx context.Context, key string) (Record, error) {
	r, err := w.Store.Find(ctx, key)
	w.read(err)
	return r, err
}

func (w watched) Ousted(ctx context.Context, ids []ID, now time.Time) (banned, deleted []ID, err error) {
	banned, deleted, err = w.Store.Ousted(ctx, ids, now)
	w.read(err)
	return banned, deleted, err
}

func (w watched) Known(ctx context.Context, id ID, from netip.Prefix) (time.Time, error) {
	at, err := w.Store.Known(ctx, id, from)
	w.read(err)
	return at, err
}

func (w watched) Create(ctx context.Context, r Record) (Record, error) {
	r, err := w.Store.Create(ctx, r)
	w.wrote(err)
	return r, err
}

func (w watched) SetPassword(ctx context.Context, id ID, hash string) error {
	err := w.Store.SetPassword(ctx, id, hash)
	w.wrote(err)
	return err
}

func (w watched) SetBan(ctx context.Context, id ID, b Ban) error {
	err := w.Store.SetBan(ctx, id, b)
	w.wrote(err)
	return err
}

func (w watched) Enter(ctx context.Context, id ID, v Visit) error {
	err := w.Store.Enter(ctx, id, v)
	w.wrote(err)
	return err
}

func (w watched) Delete(ctx context.Context, id ID) error {
	err := w.Store.Delete(ctx, id)
	w.wrote(err)
	return err
}

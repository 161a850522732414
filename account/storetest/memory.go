package storetest

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"parley/account"
)

// Memory is a store without durability, for tests. It is also the model that other stores
// are compared with. The zero Memory is empty.
type Memory struct {
	mu      sync.Mutex
	last    account.ID
	records map[account.ID]account.Record
	byKey   map[string]account.ID
	known   map[account.ID]map[netip.Prefix]time.Time
}

// OpenMemory returns an empty Memory. It is for parley.Config.Accounts.
func OpenMemory(string) (account.Store, error) { return new(Memory), nil }

// Create implements account.Store.
func (m *Memory) Create(_ context.Context, r account.Record) (account.Record, error) {
	if err := account.CheckText(r.Name, r.Key, r.Hash, r.Ban.Reason); err != nil {
		return account.Record{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records, m.byKey = map[account.ID]account.Record{}, map[string]account.ID{}
		m.known = map[account.ID]map[netip.Prefix]time.Time{}
	}
	if _, taken := m.byKey[r.Key]; taken {
		return account.Record{}, account.ErrTaken
	}
	m.last++
	r.ID = m.last
	r.Created, r.LastLogin, r.Ban = kept(r.Created), kept(r.LastLogin), keptBan(r.Ban)
	m.records[r.ID], m.byKey[r.Key] = r, r.ID
	return r, nil
}

// Find implements account.Store.
func (m *Memory) Find(_ context.Context, key string) (account.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, ok := m.byKey[key]
	if !ok {
		return account.Record{}, account.ErrNotFound
	}
	return m.records[id], nil
}

// Ousted implements account.Store.
func (m *Memory) Ousted(_ context.Context, ids []account.ID, now time.Time) (banned, deleted []account.ID, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if r, ok := m.records[id]; !ok {
			deleted = append(deleted, id)
		} else if r.Ban.Holds(now) {
			banned = append(banned, id)
		}
	}
	return banned, deleted, nil
}

// List implements account.Store.
func (m *Memory) List(_ context.Context, after string, limit int) ([]account.Record, error) {
	if err := account.CheckText(after); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []account.Record
	for _, r := range m.records {
		if r.Key > after {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b account.Record) int { return cmp.Compare(a.Key, b.Key) })
	return all[:max(0, min(len(all), limit, account.MaxList))], nil
}

// SetPassword implements account.Store.
func (m *Memory) SetPassword(_ context.Context, id account.ID, hash string) error {
	if err := account.CheckText(hash); err != nil {
		return err
	}
	return m.change(id, func(r *account.Record) {
		r.Hash = hash
		delete(m.known, id)
	})
}

// SetBan implements account.Store.
func (m *Memory) SetBan(_ context.Context, id account.ID, b account.Ban) error {
	if err := account.CheckText(b.Reason); err != nil {
		return err
	}
	return m.change(id, func(r *account.Record) { r.Ban = keptBan(b) })
}

// Enter implements account.Store.
func (m *Memory) Enter(_ context.Context, id account.ID, v account.Visit) error {
	return m.change(id, func(r *account.Record) {
		r.LastLogin = kept(v.At)
		for _, places := range m.known {
			for from, seen := range places {
				if seen.Before(kept(v.Forget)) {
					delete(places, from)
				}
			}
		}
		if v.From.IsValid() {
			m.remember(id, v)
		}
	})
}

func (m *Memory) remember(id account.ID, v account.Visit) {
	places := m.known[id]
	if places == nil {
		places = map[netip.Prefix]time.Time{}
		m.known[id] = places
	}
	places[v.From] = kept(v.At)
	for len(places) > account.MaxKnown {
		var oldest netip.Prefix
		for from, seen := range places {
			at := places[oldest]
			if !oldest.IsValid() || seen.Before(at) || seen.Equal(at) && from.String() < oldest.String() {
				oldest = from
			}
		}
		delete(places, oldest)
	}
}

// Known implements account.Store.
func (m *Memory) Known(_ context.Context, id account.ID, from netip.Prefix) (time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[id][from], nil
}

// Delete implements account.Store.
func (m *Memory) Delete(_ context.Context, id account.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[id]
	if !ok {
		return account.ErrNotFound
	}
	delete(m.records, id)
	delete(m.byKey, r.Key)
	delete(m.known, id)
	return nil
}

// Close implements account.Store.
func (m *Memory) Close() error { return nil }

func (m *Memory) change(id account.ID, f func(*account.Record)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[id]
	if !ok {
		return account.ErrNotFound
	}
	f(&r)
	m.records[id] = r
	return nil
}

// kept is a time as a store keeps it: to the microsecond, in UTC.
func kept(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Truncate(time.Microsecond).UTC()
}

// keptBan is a ban as a store keeps it: one without a beginning is none.
func keptBan(b account.Ban) account.Ban {
	if b.Since.IsZero() {
		return account.Ban{}
	}
	return account.Ban{Since: kept(b.Since), Until: kept(b.Until), Reason: b.Reason}
}

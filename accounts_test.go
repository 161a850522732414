package parley

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"

	"parley/account"
	"parley/account/storetest"
	"parley/internal/patient"
	"parley/play/gateway"
)

// stuckStore does not return when its context ends.
type stuckStore struct {
	storetest.Memory
	release chan struct{}
}

func (s *stuckStore) Find(context.Context, string) (account.Record, error) {
	patient.Value(s.release)
	return account.Record{}, account.ErrNotFound
}

func (s *stuckStore) List(context.Context, string, int) ([]account.Record, error) {
	patient.Value(s.release)
	return nil, nil
}

func TestAStoreThatHangsHoldsNobodyForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stuckStore{release: make(chan struct{})}
		s := &Server{hub: new(gateway.Hub), bans: &banBook{bans: map[netip.Prefix]Ban{}}, store: store, accounts: account.New(store, account.Config{}), done: make(chan struct{})}
		_, listed := s.Bans()
		for _, tt := range []struct {
			name string
			err  error
		}{{"a ban", s.Ban(Ban{Account: "eve"})}, {"lifting a ban", s.Unban(Ban{Account: "eve"})}, {"the list of bans", listed}} {
			if !errors.Is(tt.err, ErrNoAnswer) {
				t.Errorf("%s ends with %v, want %v", tt.name, tt.err, ErrNoAnswer)
			}
		}
		close(store.release)
		s.accounts.Close()
	})
}

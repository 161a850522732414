package parley

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/account"
)

const (
	// storePatience is how long the operator waits for the store of accounts: less than the API and its callers wait for an answer,
	// which is 10 s, so that they are told.
	storePatience = 8 * time.Second

	// listPatience is the same for a look at all accounts, of which a store reads some 100,000 in a second.
	listPatience = 15 * time.Second
)

// askAccounts has the accounts do something, and waits for the answer.
func (s *Server) askAccounts(ask func(ctx context.Context, done func(account.Answer)) error) error {
	if s.accounts == nil {
		return fmt.Errorf("%w: realm is off, so there are no accounts", ErrNoAccount)
	}
	return askStore(storePatience, func(ctx context.Context) error {
		answer := make(chan account.Answer, 1) // of one: nobody may wait for it any more
		if err := ask(ctx, func(a account.Answer) { answer <- a }); err != nil {
			return err
		}
		select {
		case a := <-answer:
			return refusalOf(a)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// askStore waits for the store of accounts, and no longer than its patience: ask runs on a goroutine of its own, as a store may not
// return when its context ends.
func askStore(patience time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- ask(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) { // or the service's own patience with the store is at an end
		return ErrNoAnswer
	}
	return err
}

// refusalOf returns the server's own error for an answer of the accounts.
func refusalOf(a account.Answer) error {
	switch a.Result {
	case account.OK:
		return nil
	case account.Unknown:
		return ErrNoAccount
	case account.Closed:
		return ErrClosed
	default:
		return errors.Join(fmt.Errorf("parley: the accounts answer %v", a.Result), a.Err)
	}
}

// bannedAccounts goes through a store.
func bannedAccounts(ctx context.Context, store account.Store) (list []Ban, err error) {
	now := time.Now()
	for after := ""; ; {
		page, err := store.List(ctx, after, account.MaxList)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			if r.Ban.Holds(now) {
				list = append(list, Ban{Account: r.Name, Reason: r.Ban.Reason, Until: r.Ban.Until})
			}
			after = r.Key
		}
		if len(page) < account.MaxList {
			return list, nil
		}
	}
}

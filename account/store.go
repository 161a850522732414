package account

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"
)

// Errors of a Store, to be tested with errors.Is.
var (
	// ErrTaken is returned by Create: the name belongs to another account.
	ErrTaken = errors.New("the name is taken")
	// ErrNotFound is returned where there is no such account.
	ErrNotFound = errors.New("no such account")
	// ErrBadText is returned for text that is not UTF-8 or has a zero byte in it, which not
	// every database can keep.
	ErrBadText = errors.New("text is not UTF-8 without zero bytes")
)

// A Record is an account as a store keeps it.
type Record struct {
	Account
	Key  string // Name.Key, unique
	Hash string // of the password, as HashPassword returns it; empty: no password lets in
}

// A Visit is a successful log-in.
type Visit struct {
	At   time.Time
	From netip.Prefix // see Source; the zero Prefix is not remembered

	// Forget has the store forget the addresses, of all accounts, that were last seen before
	// it.
	Forget time.Time
}

// A Store keeps accounts. Package sqlite and package postgres are stores, and storetest has
// the tests that both pass, for those who write another.
//
// All methods may be called at once by several goroutines. What returned without error is
// durable: it survives the end of the process by kill -9 and of the machine by
// power loss. What returned with an error other than the ones above may have been done or not.
// Times are kept to the microsecond.
type Store interface {
	// Create adds an account and returns it with its ID, or ErrTaken if there is one with that Key.
	// The ID of the argument does not count.
	Create(ctx context.Context, r Record) (Record, error)

	// Find returns the account with a key, or ErrNotFound.
	Find(ctx context.Context, key string) (Record, error)

	// Get returns those of the accounts that exist, in order of ID.
	Get(ctx context.Context, ids []ID) ([]Account, error)

	// List returns the accounts whose keys come after a key, in the order of their
	// keys' bytes: at most limit, and at most MaxList.
	List(ctx context.Context, after string, limit int) ([]Record, error)

	// SetPassword sets the hash of an account's password and forgets the addresses that it is known
	// from, as who knew the old password may be among them; or returns ErrNotFound.
	SetPassword(ctx context.Context, id ID, hash string) error

	// SetBan replaces an account's ban; the zero Ban lifts it. It may return ErrNotFound.
	SetBan(ctx context.Context, id ID, b Ban) error

	// Enter puts a log-in on record: the account's LastLogin, and the address, of which the
	// MaxKnown newest are kept. It may return ErrNotFound.
	Enter(ctx context.Context, id ID, v Visit) error

	// Known returns when an account was last entered from an address, or the zero time.
	Known(ctx context.Context, id ID, from netip.Prefix) (time.Time, error)

	// Delete removes an account and all that is kept of it, or returns ErrNotFound.
	Delete(ctx context.Context, id ID) error

	// Close lets go of the database. No method may be called after it.
	Close() error
}

// CheckText returns ErrBadText if one of the texts cannot be kept by every store.
func CheckText(texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
			return ErrBadText
		}
	}
	return nil
}

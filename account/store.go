package account

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"
)

// Errors of a Store. Test for them with errors.Is.
var (
	// ErrTaken is returned by Create: the name belongs to another account.
	ErrTaken = errors.New("the name is taken")
	// ErrNotFound is returned if the account does not exist.
	ErrNotFound = errors.New("no such account")
	// ErrBadText is returned for text that is not UTF-8 or has a zero byte. Not every database can
	// keep such text.
	ErrBadText = errors.New("text is not UTF-8 without zero bytes")
)

// A Record is an account as a store keeps it.
type Record struct {
	Account
	Key  string // Name.Key, unique
	Hash string // of the password, as HashPassword returns it; if empty, no password is right
}

// A Visit is a successful log-in.
type Visit struct {
	At   time.Time
	From netip.Prefix // see Source; the zero Prefix is not remembered

	// Forget is a time: the store forgets all addresses, of any account, that were last seen before
	// it.
	Forget time.Time
}

// A Store keeps accounts. Packages sqlite and postgres are stores. Package storetest has the tests
// that both pass, for authors of other stores.
//
// All methods may be called by several goroutines at once. A change that returned without error is
// durable: it survives kill -9 of the process and power loss. A change that returned an error other
// than those above may have been made or not. Times are kept to the microsecond.
type Store interface {
	// Create adds an account and returns it with its ID, or ErrTaken if the Key exists. The ID of
	// the argument is ignored.
	Create(ctx context.Context, r Record) (Record, error)

	// Find returns the account with a key, or ErrNotFound.
	Find(ctx context.Context, key string) (Record, error)

	// Ousted returns which of these accounts must not be logged in at the time now: those that are
	// banned, and those that do not exist, each in the order of their IDs. A server asks it of all
	// sessions again and again, and most often the answer is none, so it reads no account that is
	// not among them.
	Ousted(ctx context.Context, ids []ID, now time.Time) (banned, deleted []ID, err error)

	// List returns the accounts whose keys come after a key, in the order of their
	// keys' bytes: at most limit, and at most MaxList.
	List(ctx context.Context, after string, limit int) ([]Record, error)

	// SetPassword sets the hash of an account's password. It also forgets the known addresses of
	// the account, as a thief of the old password may have used one. It returns ErrNotFound if
	// there is no such account.
	SetPassword(ctx context.Context, id ID, hash string) error

	// SetBan replaces an account's ban; the zero Ban lifts it. It may return ErrNotFound.
	SetBan(ctx context.Context, id ID, b Ban) error

	// Enter records a log-in: the account's LastLogin, and the address. The MaxKnown newest
	// addresses are kept. It may return ErrNotFound.
	Enter(ctx context.Context, id ID, v Visit) error

	// Known returns the time of the last log-in of an account from an address, or the zero time.
	Known(ctx context.Context, id ID, from netip.Prefix) (time.Time, error)

	// Delete removes an account and all data about it, or returns ErrNotFound.
	Delete(ctx context.Context, id ID) error

	// Close closes the database. No method may be called after it.
	Close() error
}

// CheckText returns ErrBadText if one of the texts is not UTF-8 or has a zero byte.
func CheckText(texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
			return ErrBadText
		}
	}
	return nil
}

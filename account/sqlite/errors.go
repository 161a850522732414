package sqlite

import (
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"parley/account"
)

// isUnique reports whether an insert failed as there is such a row already.
func isUnique(err error) bool {
	e := (*sqlite.Error)(nil)
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

// isHarmless reports whether an error is an answer, which leaves the transaction as good as it was: those
// come from the first statement of a write only.
func isHarmless(err error) bool {
	return err == nil || errors.Is(err, account.ErrTaken) || errors.Is(err, account.ErrNotFound)
}

// wasUndone reports whether a failed commit left nothing behind for certain.
func wasUndone(err error) bool {
	e := (*sqlite.Error)(nil)
	if !errors.As(err, &e) {
		return false
	}
	primary := e.Code() & 0xff
	return primary == sqlite3.SQLITE_FULL || primary == sqlite3.SQLITE_BUSY
}

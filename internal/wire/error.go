package wire

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxPath is how many levels of lists around a field Err can name. Levels further outside
// are shown as "...". The deepest layout of the five dialects has three. Each level adds
// 24 bytes to each Reader, which are cleared when it is made.
const maxPath = 3

// Cause is the kind of a failure. Zero is none.
type Cause uint8

// The causes of a failure.
const (
	CauseShort     Cause = iota + 1 // the input ends before the field does
	CauseLimit                      // a size or count is negative or above its limit
	CauseLeftOver                   // bytes follow the last field
	CauseNotFinite                  // a float that must be a number is NaN or infinite
	CauseNotUTF8                    // a text is not UTF-8
	CauseRefused                    // a value that the layout can hold but the protocol forbids
)

var causeNames = [...]string{"none", "short", "limit", "left over", "not finite", "not UTF-8", "refused"}

func (c Cause) String() string {
	if int(c) < len(causeNames) {
		return causeNames[c]
	}
	return "cause " + strconv.Itoa(int(c))
}

// Error is the first failure of a Reader.
type Error struct {
	Field  string // as in "entities[2].name"; empty for CauseLeftOver
	Offset int    // where the field starts; for CauseNotUTF8 the first bad byte
	Cause  Cause
	Want   int    // CauseShort: the bytes wanted. CauseLimit: the size or count that was read
	Limit  int    // CauseLimit: the largest allowed
	Left   int    // the bytes from Offset to the end of the input
	Why    string // CauseRefused: what is wrong
}

func (e *Error) Error() string {
	switch e.Cause {
	case CauseShort:
		return fmt.Sprintf("%s: %s wanted at offset %d, %d left", e.Field, plural(e.Want), e.Offset, e.Left)
	case CauseLimit:
		return fmt.Sprintf("%s: size %d at offset %d, limit %d", e.Field, e.Want, e.Offset, e.Limit)
	case CauseLeftOver:
		return fmt.Sprintf("%s left over at offset %d", plural(e.Left), e.Offset)
	case CauseNotFinite:
		return fmt.Sprintf("%s: not a finite number at offset %d", e.Field, e.Offset)
	case CauseNotUTF8:
		return fmt.Sprintf("%s: not UTF-8 at offset %d", e.Field, e.Offset)
	default:
		return fmt.Sprintf("%s: %s at offset %d", e.Field, e.Why, e.Offset)
	}
}

func plural(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.Itoa(n) + " bytes"
}

// Err returns the first failure as an *Error, or nil if there is none. It is the only
// method that allocates: where the reason is not needed, use OK or Done. Call Done first,
// so that bytes left over count as a failure.
func (r *Reader) Err() error {
	if r.failed == 0 {
		return nil
	}
	e := &Error{Field: r.fullName(), Offset: r.at, Cause: r.Cause(), Left: len(r.b) - r.at, Why: r.why}
	switch e.Cause {
	case CauseShort:
		e.Want = r.want
	case CauseLimit:
		e.Want, e.Limit = r.want, r.limit
	}
	return e
}

// step is one list on the path to a field, and the index of the element in it.
type step struct {
	field string
	index int
}

// fullName returns the path that In noted, from the outermost list to the field.
func (r *Reader) fullName() string {
	var name []byte
	if r.depth > maxPath {
		name = append(name, "..."...)
	}
	for i := min(r.depth, maxPath) - 1; i >= 0; i-- {
		name = append(name, r.path[i].field...)
		name = append(name, '[')
		name = strconv.AppendInt(name, int64(r.path[i].index), 10)
		name = append(name, "]."...)
	}
	return string(append(name, r.field...))
}

// validPrefix returns how many bytes of b come before the first byte that is not UTF-8.
func validPrefix(b []byte) int {
	n := 0
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

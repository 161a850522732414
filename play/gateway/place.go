package gateway

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Place is a place in the events of the rooms of one name: behind an event, or, with Index 0, before the first of a tick. Rooms
// of one name that follow each other are told apart by when each was opened.
type Place struct {
	Opened int64  // when the room was opened, in Unix µs
	Tick   uint64 // in the room
	Index  uint32 // of the event in its tick, from 1
}

// FromNow is the place behind all that is known by now.
var FromNow = Place{Opened: math.MaxInt64}

// Compare returns -1 if p is before q, 1 if it is behind q, and 0 if they are the same.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.Opened, q.Opened), cmp.Compare(p.Tick, q.Tick), cmp.Compare(p.Index, q.Index))
}

// String writes a place so that ParsePlace reads it.
func (p Place) String() string { return fmt.Sprintf("%d.%d.%d", p.Opened, p.Tick, p.Index) }

// ParsePlace reads what String wrote. An empty text is the zero Place.
func ParsePlace(s string) (p Place, err error) {
	if s == "" {
		return p, nil
	}
	part := strings.Split(s, ".")
	if len(part) != 3 {
		return Place{}, fmt.Errorf("parley: %q is no place: it has three numbers with dots between", s)
	}
	var errs [3]error
	var index uint64
	p.Opened, errs[0] = strconv.ParseInt(part[0], 10, 64)
	p.Tick, errs[1] = strconv.ParseUint(part[1], 10, 64)
	index, errs[2] = strconv.ParseUint(part[2], 10, 32)
	if err := cmp.Or(errs[:]...); err != nil {
		return Place{}, fmt.Errorf("parley: %q is no place: %w", s, err)
	}
	p.Index = uint32(index)
	return p, nil
}

// MarshalText writes a place as String does.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a place as ParsePlace does.
func (p *Place) UnmarshalText(b []byte) (err error) {
	*p, err = ParsePlace(string(b))
	return err
}

package connector

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/internal/pagetest"
	"parley/internal/promise"
	"parley/internal/wire"
)

const page = "../../../docs/protocols/relay-connector.md"

// number reads a cell with one number, and span one with "a to b".
func number(t *testing.T, s string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.ReplaceAll(s, ",", ""), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func span(t *testing.T, s string) (low, high uint64) {
	t.Helper()
	from, to, _ := strings.Cut(s, " to ")
	return number(t, from), number(t, to)
}

// T6: the tables of the page are those of the code.
func TestLayoutTables(t *testing.T) {
	promise.Keeps(t, "T6", "connector", 1)
	tables := pagetest.Tables(t, page)
	t.Run("numbers", func(t *testing.T) {
		next := uint64(0)
		for _, row := range tables["Numbers"] {
			low, high := span(t, row["value"])
			for _, v := range []uint64{low, high} {
				if got := appendUint(nil, v); uint64(len(got)) != number(t, row["bytes"]) || low != next {
					t.Errorf("%d is %x, and the page says %v", v, got, row)
				}
			}
			next = high + 1
		}
		if next != 0 {
			t.Errorf("the page ends before %d", next)
		}
	})
	for heading, s := range map[string]*set{"To the main port": &sets[0], "From the main port": &sets[1], "To a game": &sets[2],
		"From a game": &sets[3], "Between players": &sets[4]} {
		t.Run(heading, func(t *testing.T) {
			rows := tables[heading]
			if len(rows) != len(s.grammar) {
				t.Fatalf("%d rows, want %d", len(rows), len(s.grammar))
			}
			for i, row := range rows {
				checkMessage(t, s, i, row)
			}
		})
	}
	t.Run("times", func(t *testing.T) {
		want := map[string]time.Duration{"`announceAfter`": announceAfter, "`unreliableGroup`": unreliableGroup, "`reliableGroup`": reliableGroup, "`confirmAfter`": confirmAfter,
			"`resendAfter`": resendAfter, "`keepAlive`": keepAlive, "`timeout`": timeout, "`closeWithin`": closeWithin, "`dismissWithin`": dismissWithin}
		for _, row := range tables["The life of a game, time"] {
			got, err := time.ParseDuration(strings.ReplaceAll(row["value"], " ", ""))
			if d, ok := want[row["constant"]]; err != nil || !ok || d != got {
				t.Errorf("%s is %v, and the page says %s", row["constant"], d, row["value"])
			}
			delete(want, row["constant"])
		}
		if len(want) > 0 {
			t.Errorf("the page does not say %v", want)
		}
	})
	t.Run("what may be asked", func(t *testing.T) {
		want := map[string]ask{"Ping": askPing, "OpenGame": askOpen, "Join": askJoin, "Leave": askLeave, "Readiness": askReady}
		rows := tables["What a client may ask"]
		if len(rows) != asks {
			t.Fatalf("%d rows", len(rows))
		}
		for _, row := range rows {
			every, err := time.ParseDuration(strings.ReplaceAll(row["one more each"], " ", ""))
			if a := allowances[want[row["message"]]]; err != nil || a.every != every || uint64(a.burst) != number(t, row["at once"]) {
				t.Errorf("%v, and the page says %v", a, row)
			}
		}
	})
	t.Run("what clients can decode", func(t *testing.T) {
		for _, row := range tables["What the clients can decode"] {
			_, high := span(t, row["can be"])
			ok := map[string]uint64{"player": seatsOfTheGame - 1, "object class": uint64(len(typesOfTheGame) - 1),
				"object type of class 0": uint64(typesOfTheGame[0] - 1), "object type of class 1": uint64(typesOfTheGame[1] - 1),
				"point count": pointsOfTheGame}
			if want, is := ok[row["field"]]; !is || want != high {
				t.Errorf("%d, and the page says %v", want, row)
			}
		}
	})
	t.Run("values", func(t *testing.T) {
		rows := tables["From a game, value"]
		if len(rows) != 4 {
			t.Fatalf("%d rows", len(rows))
		}
		for i, row := range rows {
			if row["readiness"] != Readiness(i).String() || row["error of a join"] != JoinError(i+1).String() {
				t.Errorf("%v", row)
			}
		}
	})
}

// A field is one of a row: what it is called, the largest of it, and how its bytes repeat.
type field struct {
	name  string
	bytes []byte
	code  string // of the oracle's grammar
}

// readFields turns "entity, player n8" into fields.
func readFields(t *testing.T, cell string) (list []field) {
	for _, part := range strings.Split(cell, ", ") {
		words := strings.Fields(part)
		switch last := len(words) - 1; {
		case part == "":
		case part == "entity":
			list = append(list, field{"entity player", appendUint(nil, 255), "b"}, field{"entity index", appendUint(nil, 1<<32-1), "d"})
		case part == "text":
			list = append(list, field{"text", texts[MaxText], ""})
		case words[0] == "points":
			list = append(list, field{"points", make([]byte, MaxPoints*pointBytes), ""})
		case words[last] == "f32":
			n := int(number(t, words[last-1]))
			list = append(list, field{strings.Join(words[:last-1], " "), make([]byte, 4*n), strings.Repeat("f", n)})
		case words[last][0] == 'n':
			bits := number(t, words[last][1:])
			code := map[uint64]string{8: "b", 16: "w", 32: "d"}[bits]
			list = append(list, field{strings.Join(words[:last], " "), appendUint(nil, 1<<bits-1), code})
		default: // name a to b
			_, high := span(t, strings.Join(words[last-2:], " "))
			name := strings.Join(words[:last-2], " ")
			code := map[string]string{"text size": "t", "has path": "p", "point count": ""}[name]
			if code == "" && name != "point count" {
				code = strconv.Itoa(int(high) + 1)
			}
			list = append(list, field{name, appendUint(nil, high), code})
		}
	}
	return list
}

// checkMessage makes the largest message that a row describes, reads it, and cuts it inside each
// field: the error must name it as the row does.
func checkMessage(t *testing.T, s *set, i int, row map[string]string) {
	t.Helper()
	if number(t, row["number"]) != uint64(i) {
		t.Errorf("%s is number %s, want %d", row["message"], row["number"], i)
	}
	fields, b, code := readFields(t, row["fields"]), []byte{byte(i)}, ""
	ends := []int{1}
	for _, f := range fields {
		b = append(b, f.bytes...)
		ends = append(ends, len(b))
		code += f.code
	}
	if code != s.grammar[i] {
		t.Errorf("%s has the fields %q, want %q", row["message"], code, s.grammar[i])
	}
	m := s.make()
	msgs := Read(b)
	if !msgs.Next(m) || strings.Fields(say(m))[0] != row["message"] || !bytes.Equal(m.AppendTo(nil), b) {
		t.Fatalf("%x is %q, and the page says %s: %v", b, say(m), row["message"], msgs.Err())
	}
	for k, f := range fields {
		for n := ends[k]; n < ends[k+1]; n++ {
			msgs := Read(b[:n])
			msgs.Next(m)
			e := (*wire.Error)(nil)
			if !errors.As(msgs.Err(), &e) || e.Field != "messages[0]."+f.name || e.Offset < ends[k] || e.Offset > n || e.Cause != wire.CauseShort {
				t.Errorf("%s cut to %d bytes: %v, and the page says %s from %d on", row["message"], n, msgs.Err(), f.name, ends[k])
			}
		}
	}
}

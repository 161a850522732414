package core

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/pagetest"
	"parley/internal/promise"
	"parley/internal/wire"
)

const relayPage = "../../../docs/protocols/relay.md"

// span reads a cell with "a to b" or just "a", and a remark behind a comma.
func span(t *testing.T, cell string) (low, high int) {
	t.Helper()
	cell, _, _ = strings.Cut(cell, ",")
	return pagetest.Span(t, cell)
}

// T6: the tables of docs/protocols/relay.md are those of the code.
func TestLayoutTables(t *testing.T) {
	promise.Keeps(t, "T6", "relay", 1)
	tables := pagetest.Tables(t, relayPage)
	for heading, rows := range map[string]int{"Datagrams": 2, "package": 3, "confirm": 3, "Flags": 10, "Limits": 11, "Tickets": 8} {
		if len(tables[heading]) != rows {
			t.Fatalf("%d rows under %q, want %d", len(tables[heading]), heading, rows)
		}
	}
	t.Run("datagrams", func(t *testing.T) { checkDatagrams(t, tables["Datagrams"]) })
	t.Run("fields", func(t *testing.T) {
		checkFields(t, tables["package"], Datagram{Kind: KindPackage, Mode: SemiOrdered, ToServer: true, ID: 0x123456, Payload: noise[:504]})
		checkFields(t, tables["confirm"], Datagram{Kind: KindConfirmation, IDs: noise[:504]})
	})
	t.Run("flags", func(t *testing.T) { checkFlags(t, tables["Flags"]) })
	t.Run("tickets", func(t *testing.T) { checkTicket(t, tables["Tickets"]) })
	t.Run("limits", func(t *testing.T) {
		want := map[string]int{"`HeaderBytes`": HeaderBytes, "`MaxPayload`": MaxPayload, "`MaxDatagram`": MaxDatagram, "`MaxID`": MaxID,
			"`MaxConfirmed`": MaxConfirmed, "`maxHoles`": maxHoles, "`maxOutstanding`": maxOutstanding, "`maxGathered`": maxGathered,
			"`maxTries`": maxTries, "`nearIDs`": nearIDs, "`maxMalformed`": maxMalformed}
		kit.Limits(t, tables["Limits"], "value", want)
	})
}

// checkDatagrams tries both kinds in each size: a size is accepted if and only if the row says so.
func checkDatagrams(t *testing.T, rows pagetest.Table) {
	for i, row := range rows {
		low, high := span(t, row["bytes in all"])
		b := make([]byte, 600)
		if row["bit 7"] == "set" {
			b[0] = 0x80
		}
		for n := range b {
			want := low <= n && n <= high && (!strings.Contains(row["bytes in all"], "multiple of 3") || (n-4)%3 == 0)
			var d Datagram
			if got := d.Parse(b[:n]); got != want || got && d.Kind != bothKinds[i] {
				t.Errorf("%s of %d bytes: accepted %t as %v, and the page says %t", row["datagram"], n, got, d.Kind, want)
			}
		}
		b[3] = 1
		if got := new(Datagram).Parse(b[:low]); got != (row["id"] == "any") {
			t.Errorf("%s with id 1: accepted %t, and the page says %s", row["datagram"], got, row["id"])
		}
	}
}

// checkFields reads the values out of the bytes where the rows say that they are, and cuts the bytes
// inside each field: the error must name it as the row does.
func checkFields(t *testing.T, rows pagetest.Table, d Datagram) {
	b := d.AppendTo(nil)
	want := map[string]string{"flags": string(b[:1]), "id": string(wire.AppendBigU24(nil, d.ID)), "payload": string(d.Payload), "ids": string(d.IDs)}
	end := 0
	for _, row := range rows {
		at, field := pagetest.Number(t, row["offset"]), row["field"]
		_, size := span(t, row["bytes"])
		if at != end || at+size > len(b) {
			t.Fatalf("%v: %s takes %d bytes at %d of %d, and what precedes it ends at %d", d.Kind, field, size, at, len(b), end)
		}
		end = at + size
		if got := string(b[at:end]); got != want[field] {
			t.Errorf("%v: %s is %x at offset %d, want %x", d.Kind, field, got, at, want[field])
		}
		for n := at; n < end && field != "payload"; n++ {
			err, e := new(Datagram).ParseErr(b[:n]), (*wire.Error)(nil)
			if field == "ids" && n > at && (n-at)%3 == 0 {
				continue // fewer ids
			}
			if !errors.As(err, &e) || e.Field != field {
				t.Errorf("%v cut to %d bytes: %v, and the page says %s", d.Kind, n, err, field)
			}
		}
	}
	if end != len(b) {
		t.Errorf("%v: the page describes %d of %d bytes", d.Kind, end, len(b))
	}
}

// checkFlags tries each row on both kinds, with all other bits as they must be.
func checkFlags(t *testing.T, rows pagetest.Table) {
	shifts := map[string]int{"7": 7, "6–5": 5, "4": 4, "3–0": 0}
	for _, row := range rows {
		values := []int{}
		if row["value"] == "any other" {
			for v := 1; v < 16; v++ {
				values = append(values, v)
			}
		} else {
			v, err := strconv.ParseInt(row["value"], 2, 8)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, int(v))
		}
		for _, v := range values {
			flags := byte(v << shifts[row["bits"]])
			if row["bits"] == "7" {
				continue // it says which column counts: the rows of Datagrams
			}
			var d Datagram
			got := "refused"
			if d.Parse([]byte{flags, 0, 0, 1, 2}) {
				got = map[string]string{"6–5": d.Mode.String(), "4": "to, or from, the others", "3–0": "ignored"}[row["bits"]]
				if d.ToServer {
					got = "to, or from, the server"
				}
				if row["bits"] == "3–0" && v == 0 {
					got = "as we send it"
				}
			}
			if got != row["in a package"] {
				t.Errorf("bits %s of %04b in a package: %s, and the page says %s", row["bits"], v, got, row["in a package"])
			}
			accepted := d.Parse([]byte{flags | 0x80, 0, 0, 0, 0, 0, 1})
			if want := row["in a confirm"] == "as it must be"; accepted != want {
				t.Errorf("bits %s of %04b in a confirm: accepted %t, and the page says %s", row["bits"], v, accepted, row["in a confirm"])
			}
		}
	}
}

// checkTicket reads a ticket with the longest texts by the table.
func checkTicket(t *testing.T, rows pagetest.Table) {
	long := strings.Repeat("x", MaxTicketText)
	b := issue(t, testKey, Ticket{Room: long, Name: long, Expires: time.Unix(0x01020304, 0), Serial: [16]byte(noise[:16])})
	want := map[string]string{"kind": "T", "expires": "\x00\x00\x00\x00\x01\x02\x03\x04", "serial": string(noise[:16]),
		"room size": "\x64", "room": long, "name size": "\x64", "name": long, "mark": string(testKey.sum(nil, b[:len(b)-32]))}
	at := 0
	for _, row := range rows {
		if row["offset"] != "–" && pagetest.Number(t, row["offset"]) != at {
			t.Errorf("%s is at %s, and what precedes it ends at %d", row["field"], row["offset"], at)
		}
		_, size := span(t, row["bytes"])
		if got := string(b[at : at+size]); got != want[row["field"]] {
			t.Errorf("%s is %x, want %x", row["field"], got, want[row["field"]])
		}
		at += size
	}
	if at != len(b) {
		t.Errorf("the page describes %d of %d bytes", at, len(b))
	}
}

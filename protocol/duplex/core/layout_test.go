package core

import (
	"testing"

	"parley/internal/kit"
	"parley/internal/pagetest"
	"parley/internal/promise"
)

// T6: the tables of docs/protocols/duplex.md are those of the code.
func TestLayoutTables(t *testing.T) {
	promise.Keeps(t, "T6", "duplex", 1)
	tables := pagetest.Tables(t, statesPage)
	for heading, rows := range map[string]int{"Messages": 8, "Codes of signals": 9, "Feed datagrams": 3, "update and sync": 3,
		"conn_init_rep and feed_init": 3, "feed_init_rep": 2, "signal": 1, "query": 2, "reply": 3, "Limits": 7} {
		if len(tables[heading]) != rows {
			t.Fatalf("%d rows under %q, want %d", len(tables[heading]), heading, rows)
		}
	}
	t.Run("messages", func(t *testing.T) { checkMessages(t, tables["Messages"]) })
	t.Run("fields", func(t *testing.T) {
		for _, tt := range []struct {
			heading string
			m       Message
		}{
			{"update and sync", Message{Kind: KindUpdate, Code: 1, SID: -2, Data: noise[:65532]}},
			{"update and sync", Message{Kind: KindSync, Code: 2, SID: 0x1234, Data: noise[:65532]}},
			{"conn_init_rep and feed_init", Message{Kind: KindConnInitRep, Code: 3, Player: 0x1234, Token: -3}},
			{"conn_init_rep and feed_init", Message{Kind: KindFeedInit, Code: 4, Player: -1, Token: 0x12345678}},
			{"feed_init_rep", Message{Kind: KindFeedInitRep, Code: 5, Token: 0x12345678}},
			{"signal", Message{Kind: KindSignal, Code: 14}},
			{"query", Message{Kind: KindQuery, Code: 100, Data: noise[:65534]}},
			{"reply", Message{Kind: KindReply, Code: 200, Status: 9, Data: noise[:65533]}},
		} {
			checkFields(t, tables[tt.heading], tt.m)
		}
	})
	t.Run("datagrams", func(t *testing.T) {
		d := Datagram{Sequence: 0x0102030405060708, Message: Message{Kind: KindSignal, Code: 14}}
		b := d.AppendTo(nil)
		for i, want := range []uint64{Magic, 0x0102030405060708, 14} {
			row := tables["Feed datagrams"][i]
			at := pagetest.Number(t, row["offset"])
			low, _ := pagetest.Span(t, row["bytes"])
			if got := bigEndian(b[at : at+low]); got != want {
				t.Errorf("%s is %#x at offset %d, want %#x", row["field"], got, at, want)
			}
		}
	})
	t.Run("signals", func(t *testing.T) {
		for _, row := range tables["Codes of signals"] {
			low, high := pagetest.Span(t, row["code"])
			if row["signal"] == "the game's" {
				if low != FirstSignal || high != LastSignal {
					t.Errorf("the game has %d to %d", low, high)
				}
				continue
			}
			if got := messageName(&Message{Code: uint8(low)}); got != row["signal"] {
				t.Errorf("code %d is %s, and the page says %s", low, got, row["signal"])
			}
		}
	})
	t.Run("limits", func(t *testing.T) {
		kit.Limits(t, tables["Limits"], "value", map[string]int{"`HeaderBytes`": HeaderBytes, "`MaxMessage`": MaxMessage, "`MaxData`": MaxData,
			"`MaxQueryData`": MaxQueryData, "`MaxReplyData`": MaxReplyData, "`MaxDatagram`": MaxDatagram, "`MaxPlayer`": MaxPlayer})
	})
}

// checkMessages tries each code from each side on each channel in many sizes: it is accepted
// if and only if a row says so, as the message that it says.
func checkMessages(t *testing.T, rows pagetest.Table) {
	b := make([]byte, 24)
	for code := range 256 {
		b[0] = byte(code)
		for _, from := range []Side{FromClient, FromServer} {
			for _, on := range []Channel{Main, Feed} {
				var row map[string]string
				for _, r := range rows {
					low, high := pagetest.Span(t, r["code"])
					if low <= code && code <= high && (r["sent by"] == "both" || r["sent by"] == from.String()) && (r["channel"] == "both" || r["channel"] == on.String()) {
						row = r
					}
				}
				for size := 1; size <= len(b); size++ {
					got, want := "", ""
					if row != nil {
						if least, most := pagetest.Span(t, row["bytes"]); least <= size && size <= most {
							want = row["message"]
						}
					}
					if m := new(Message); m.Parse(from, on, b[:size]) {
						got = m.Kind.String()
					}
					if got != want {
						t.Fatalf("code %d and %d bytes from a %v on %v is %q, and the page says %q", code, size, from, on, got, want)
					}
				}
			}
		}
	}
}

// checkFields reads the values of m out of its bytes where the rows say that they are.
func checkFields(t *testing.T, rows pagetest.Table, m Message) {
	b := m.AppendTo(nil)
	numbers := map[string]uint64{"code": uint64(m.Code), "SID": uint64(uint16(m.SID)), "player": uint64(uint16(m.Player)),
		"token": uint64(uint32(m.Token)), "status": uint64(m.Status)}
	from, on := FromServer, Main
	if forms[m.Kind].sides == FromClient {
		from = FromClient
	}
	if forms[m.Kind].channels == Feed {
		on = Feed
	}
	kit.Layout(t, m.Kind.String(), rows, b, 0, func(b []byte) error { return new(Message).ParseErr(from, on, b) }, func(field string, b []byte) {
		if field == "data" {
			if string(m.Data) != string(b) {
				t.Errorf("%v: data is not where the page says", m.Kind)
			}
		} else if want, ok := numbers[field]; !ok || bigEndian(b) != want {
			t.Errorf("%v: %s is %#x, want %#x", m.Kind, field, bigEndian(b), want)
		}
	})
}

// bigEndian reads up to 8 bytes, the most significant first.
func bigEndian(b []byte) (v uint64) {
	for _, x := range b {
		v = v<<8 | uint64(x)
	}
	return v
}

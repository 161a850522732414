package core

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"parley/internal/wire"
)

// maxFuzzed bounds an input: what depends on length is tried in full by the tests of T5.
const maxFuzzed = 96

// T4: any bytes, as a datagram and as a ticket.
func FuzzParse(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.Bytes)
	}
	key := TicketKey("0123456789abcdef")
	ticket, err := key.Issue(Ticket{Room: "r", Name: "n", Expires: time.Unix(2_000_000_000, 0)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(ticket)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > maxFuzzed {
			return
		}
		fuzzDatagram(t, b)
		if got, err := key.Check(time.Unix(1_000_000_000, 0), "r", b); err == nil && !bytes.Equal(b, ticket) {
			t.Fatalf("%x is a ticket: %+v", b, got)
		}
	})
}

func fuzzDatagram(t *testing.T, b []byte) {
	got := Datagram{Kind: KindPackage, Mode: SemiOrdered, ToServer: true, ID: 9, Payload: b, IDs: b}
	var want, again Datagram
	ok, input := oracle(b, &want), bytes.Clone(b)
	if got.Parse(b) != ok || ok && !same(&got, &want) {
		t.Fatalf("%x: got %+v, want %+v, %t", b, got, want, ok)
	}
	err := again.ParseErr(b)
	if e := (*wire.Error)(nil); (err == nil) != ok || err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Offset > len(b)) {
		t.Fatalf("%x: accepted %t, and the error is %v", b, ok, err)
	}
	if !bytes.Equal(b, input) {
		t.Fatalf("%x was changed to %x", input, b)
	}
	if !ok {
		if got.Kind != 0 || again.Kind != 0 {
			t.Fatalf("%x: refused, and yet a %v or %v", b, got.Kind, again.Kind)
		}
		return
	}
	canonical(input)
	if out := got.AppendTo(nil); !bytes.Equal(out, input) {
		t.Fatalf("read  %x\nwrote %x", input, out)
	}
}

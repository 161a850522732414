package wire

import (
	"errors"
	"strings"
	"testing"
)

func TestErrNamesFieldOffsetAndCause(t *testing.T) {
	const nested = "0007 0002  000001 3f800000 00  000002 3f800000 02  0005 01 aa  0006 02 bb" // ends in entities[1].attributes[1].value
	for _, tt := range []struct {
		name string
		read func(r *BigReader)
		in   string
		want string
	}{
		{"a number cut short", func(r *BigReader) { r.U16("a"); r.U32("sequence") }, "0102 0304", "sequence: 4 bytes wanted at offset 2, 2 left"},
		{"one byte missing", func(r *BigReader) { r.U8("type") }, "", "type: 1 byte wanted at offset 0, 0 left"},
		{"a name cut short", func(r *BigReader) { r.Skip("head", 7); r.Bytes("name", 12, 255) }, "00000000000000 010203", "name: 12 bytes wanted at offset 7, 3 left"},
		{"only the first failure counts", func(r *BigReader) { r.U64("time"); r.U8("flags"); r.Fail(0, "x", "y") }, "010203", "time: 8 bytes wanted at offset 0, 3 left"},
		{"above a limit", func(r *BigReader) { r.Bytes("name", int(r.U16("name size")), 255) }, "0100", "name: size 256 at offset 2, limit 255"},
		{"the limit comes before the end", func(r *BigReader) { r.Bytes("name", 256, 255) }, "", "name: size 256 at offset 0, limit 255"},
		{"a negative size", func(r *BigReader) { r.Bytes("name", -1, 255) }, "00", "name: size -1 at offset 0, limit 255"},
		{"the rest above a limit", func(r *BigReader) { r.Rest("payload", 2) }, "010203", "payload: size 3 at offset 0, limit 2"},
		{"a count that cannot fit", func(r *BigReader) { r.Count("ids", int(r.U8("id count")), 255, 3) }, "03 0102030405060708", "ids: 9 bytes wanted at offset 1, 8 left"},
		{"a count above its limit", func(r *BigReader) { r.Count("ids", int(r.U8("id count")), 2, 3) }, "03 010203040506070809", "ids: size 3 at offset 1, limit 2"},
		{"bytes left over", func(r *BigReader) { r.U8("type") }, "010203", "2 bytes left over at offset 1"},
		{"not UTF-8", func(r *BigReader) { r.Text("name", 4, 9) }, "61c3a9ff", "name: not UTF-8 at offset 3"},
		{"not UTF-8 after a replacement rune", func(r *BigReader) { r.Text("name", 4, 9) }, "efbfbd ff", "name: not UTF-8 at offset 3"},
		{"a text cut inside a rune", func(r *BigReader) { r.U8("size"); r.Text("name", 2, 9) }, "0261c3", "name: not UTF-8 at offset 2"},
		{"not finite", func(r *BigReader) { r.U8("type"); r.FiniteF32("angle") }, "01 7fc00000", "angle: not a finite number at offset 1"},
		{"a meaning refused", func(r *BigReader) { r.U8("type"); r.Fail(0, "type", "unknown type") }, "09", "type: unknown type at offset 0"},
		{"a list in a list", func(r *BigReader) { new(update).read(r) }, nested, "entities[1].attributes[1].value: 2 bytes wanted at offset 27, 1 left"},
		{"a field of an element", func(r *BigReader) { new(update).read(r) }, "0007 0001 000001 7f800000 00", "entities[0].angle: not a finite number at offset 7"},
		{"a count in an element", func(r *BigReader) { new(update).read(r) }, "0007 0001 000001 3f800000 11", "entities[0].attributes: size 17 at offset 12, limit 16"},
		{"deeper than the path", func(r *BigReader) {
			r.U8("leaf")
			for _, list := range []string{"a", "b", "c", "d"} {
				r.In(list, 1)
			}
		}, "", "...c[1].b[1].a[1].leaf: 1 byte wanted at offset 0, 0 left"},
		{"bytes that are a message of their own", func(r *BigReader) {
			r.U8("size")
			inner := Big(r.Bytes("message", 3, 3))
			inner.U16("id")
			inner.U16("tick")
			r.Within(&inner.Reader)
			r.In("messages", 2)
		}, "03 010203 0405", "messages[2].tick: 2 bytes wanted at offset 3, 1 left"},
		{"a message of its own that is well", func(r *BigReader) {
			inner := Big(r.Bytes("message", 2, 2))
			inner.U16("id")
			r.Within(&inner.Reader)
			r.U16("tick")
		}, "0102 03", "tick: 2 bytes wanted at offset 2, 1 left"},
		{"nothing at all", func(r *BigReader) { r.Done(); r.U24("id") }, "", "id: 3 bytes wanted at offset 0, 0 left"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Big(unhex(t, tt.in))
			tt.read(&r)
			if r.Done() || r.OK() || r.Len() != 0 {
				t.Errorf("Done %t, OK %t, Len %d after a failure", r.Done(), r.OK(), r.Len())
			}
			err := r.Err()
			if err == nil || err.Error() != tt.want {
				t.Fatalf("got  %v\nwant %s", err, tt.want)
			}
			var e *Error
			if !errors.As(err, &e) || e.Cause != r.Cause() || !strings.Contains(tt.want, e.Field) {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestNoErrorWhenAllIsWell(t *testing.T) {
	var m message
	r := Little(message64())
	m.read(&r)
	if err := r.Err(); !r.Done() || err != nil || r.Cause() != 0 || r.Offset() != 64 {
		t.Errorf("Done %t, Err %v, Cause %v, Offset %d", r.Done(), err, r.Cause(), r.Offset())
	}
}

// A stream is read again from the start of the message when more has come; only
// CauseShort says that waiting may help.
func TestAStreamEndsShortUntilTheMessageIsThere(t *testing.T) {
	u := update{Tick: 1, Entities: []entity{{ID: 9, Attributes: []attribute{{3, []byte("abc")}}}}}
	b := u.appendTo(nil)
	for n := range b {
		r := Big(b[:n])
		if u.read(&r); r.Cause() != CauseShort {
			t.Errorf("%d of %d bytes: %v", n, len(b), r.Cause())
		}
	}
	r := Big(append(b, "the next message"...))
	if u.read(&r); !r.OK() || r.Offset() != len(b) {
		t.Errorf("offset %d, want %d: %v", r.Offset(), len(b), r.Err())
	}
}

func TestCauseStrings(t *testing.T) {
	for c, want := range map[Cause]string{0: "none", CauseShort: "short", CauseRefused: "refused", 200: "cause 200"} {
		if got := c.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A zero Reader and a nil input are cursors over nothing.
func TestNothingToRead(t *testing.T) {
	var zero LittleReader
	for _, r := range []LittleReader{zero, Little(nil), Little([]byte{})} {
		if !r.Done() || r.Len() != 0 || r.Offset() != 0 {
			t.Errorf("Done %t, Len %d, Offset %d", r.Done(), r.Len(), r.Offset())
		}
		if got := r.Rest("rest", 0); len(got) != 0 || !r.Done() {
			t.Errorf("Rest %x: %v", got, r.Err())
		}
		if got := r.U32("number"); got != 0 || r.Done() {
			t.Errorf("U32 %d, Done %t", got, r.Done())
		}
	}
}

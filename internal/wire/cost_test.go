package wire

import (
	"os/exec"
	"strings"
	"testing"
)

// Neither reading nor refusing allocates; only Err does.
func TestReadingAllocatesNothing(t *testing.T) {
	var m message
	u := update{Entities: []entity{{ID: 1, Attributes: []attribute{{1, []byte("ab")}}}, {ID: 2}}}
	good, list := message64(), u.appendTo(nil)
	badText := append([]byte(nil), good...)
	badText[13] = 0xff
	badFloat := append([]byte(nil), list...)
	badFloat[7], badFloat[8] = 0x7f, 0x80
	var buf [64]byte
	for _, tt := range []struct {
		name string
		run  func() bool
		want bool
	}{
		{"a message", func() bool { return m.parse(good) }, true},
		{"a message written", func() bool { return len(m.appendTo(buf[:0])) == 64 }, true},
		{"a message cut short", func() bool { return m.parse(good[:63]) }, false},
		{"a message with a byte left over", func() bool { return m.parse(append(buf[:0], good[:32]...)) }, false},
		{"a type that is refused", func() bool { return m.parse(list) }, false},
		{"a name that is not UTF-8", func() bool { return m.parse(badText) }, false},
		{"a list", func() bool { return u.parse(list) }, true},
		{"a list cut short in an element", func() bool { return u.parse(list[:len(list)-9]) }, false},
		{"a float that is not finite", func() bool { return u.parse(badFloat) }, false},
	} {
		if got := tt.run(); got != tt.want {
			t.Errorf("%s: accepted %t, want %t", tt.name, got, tt.want)
		}
		if got := testing.AllocsPerRun(100, func() { tt.run() }); got != 0 {
			t.Errorf("%s: %v allocations, want 0", tt.name, got)
		}
	}
}

// Field names are free only where the compiler inlines the read: then the name
// is used on the way to a failure and nowhere else. A read that outgrows the
// compiler's budget would cost three times as much, and no other test would see it.
func TestReadsAreInlined(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command to ask")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	said := strings.Split(string(out), "\n")
	check := func(name string) {
		for _, line := range said {
			if strings.HasSuffix(line, ": can inline "+name) {
				return
			}
		}
		t.Errorf("%s is not inlined", name)
	}
	for _, order := range []string{"Little", "Big"} {
		check(order)
		for _, method := range []string{"U16", "U24", "U32", "U64", "I16", "I32", "I64", "F32", "F64"} {
			check("(*" + order + "Reader)." + method)
		}
	}
	for _, method := range []string{"U8", "I8", "Bytes", "Rest", "Skip", "In", "Done", "OK", "Len", "Offset", "Cause"} {
		check("(*Reader)." + method)
	}
}

package message

import (
	"slices"
	"strings"
	"testing"
)

// Addresses that a server tells are host:port, a few, and nothing else gets through, whichever end wrote it.
func TestMoved(t *testing.T) {
	for _, tt := range []struct {
		name string
		text string
		want []string
	}{
		{"one", "10.0.0.2:7000", []string{"10.0.0.2:7000"}},
		{"three, of all kinds", "10.0.0.2:7000,[2001:db8::1]:7000,b.example.com:8000", []string{"10.0.0.2:7000", "[2001:db8::1]:7000", "b.example.com:8000"}},
		{"more than there may be", "a:1,b:2,c:3,d:4,e:5", []string{"a:1", "b:2", "c:3", "d:4"}},
		{"what is no address is left out", "a:1,,b,c:0,d:65536,e:x,f:2", []string{"a:1", "f:2"}},
		{"no path, no user, no dialect", "a/b:1,u@h:2,realm://h:3,a?b:4,a#b:5,a%b:6,a b:7,::1:8,[::1:9,[a]:1,[fe80::1%eth0]:2,:3", nil},
		{"nothing", "", nil},
		{"too long", strings.Repeat("a", 300) + ":1," + strings.Repeat("b", 300) + ":1", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ParseMoved([]byte(tt.text)); !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if got := AppendMoved(nil, strings.Split(tt.text, ",")); len(tt.want) > 0 && string(got) != strings.Join(tt.want, ",") {
				t.Errorf("%q is told, want %q", got, tt.want)
			}
		})
	}
	if got := AppendMoved(nil, []string{strings.Repeat("a", 300) + ":1", strings.Repeat("b", 300) + ":1"}); len(got) > maxMovedText {
		t.Errorf("%d bytes are told", len(got))
	}
}

package shell_test

import (
	"testing"

	"parley/internal/shell"
	"parley/internal/shell/shelltest"
)

func TestResolve(t *testing.T) {
	for _, tt := range []struct{ name, addr, want string }{
		{"an address is left as it is", "192.0.2.1:7000", "192.0.2.1:7000"},
		{"of either family", "[2001:db8::1]:7000", "[2001:db8::1]:7000"},
		{"with its zone", "[fe80::1%eth0]:7000", "[fe80::1%eth0]:7000"},
		{"all addresses", ":7000", ":7000"},
		{"what is no address is left to the socket", "nonsense", "nonsense"},
		{"nothing too", "", ""},
		{"a name becomes an address, IPv4 first", "localhost:7000", "127.0.0.1:7000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := shell.Resolve(t.Context(), tt.addr); got != tt.want || err != nil {
				t.Errorf("%q became %q, %v; want %q", tt.addr, got, err, tt.want)
			}
		})
	}
	if got, err := shell.Resolve(shelltest.Ended(), "name.invalid:7000"); err == nil {
		t.Errorf("a name that does not exist became %q", got)
	}
}

func TestEachRandIsAnother(t *testing.T) {
	if a, b := shell.Rand().Uint64(), shell.Rand().Uint64(); a == b {
		t.Errorf("two sources begin with %d", a)
	}
}

package udp

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"parley/internal/datagram"
)

// netError is errno as package net wraps it.
func netError(call string, errno syscall.Errno) error {
	return &net.OpError{Op: "write", Net: "udp", Err: os.NewSyscallError(call, errno)}
}

func TestOpenErrorsSayWhatToDo(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"in use", syscall.EADDRINUSE, "the port is in use by another program; choose another port"},
		{"in use, from package net", netError("bind", syscall.EADDRINUSE), "the port is in use by another program"},
		{"not permitted", syscall.EACCES, "the system does not permit this port; choose one above 1023"},
		{"not ours", syscall.EADDRNOTAVAIL, "this machine has no such address; choose one of its own"},
		{"no such family", syscall.EAFNOSUPPORT, "this machine does not have that version of IP"},
		{"too many files", syscall.EMFILE, "too many files are open; raise the limit"},
		{"no route", syscall.ENETUNREACH, "there is no route to that address"},
		{"unknown", errors.New("a strange thing"), "a strange thing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := error(&OpenError{"listen on", ":7000", tt.err})
			if got := err.Error(); !strings.HasPrefix(got, "udp: listen on :7000: "+tt.want) || strings.Contains(got, "\n") {
				t.Errorf("got %q, want %q in it", got, tt.want)
			}
			if !errors.Is(err, tt.err) {
				t.Errorf("errors.Is does not find %v", tt.err)
			}
		})
	}
}

func TestAddressesThatArePlainlyWrong(t *testing.T) {
	network := new(Network)
	for _, tt := range []struct{ name, addr string }{
		{"no port", "127.0.0.1"},
		{"no number", "127.0.0.1:x"},
		{"port too large", "127.0.0.1:65536"},
		{"nothing at all", "?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, open := range []func() (*Socket, error){
				func() (*Socket, error) { return Listen(tt.addr, Config{}) },
				func() (*Socket, error) { return Dial(tt.addr, Config{}) },
				func() (*Socket, error) { return network.Listen(tt.addr, Config{}) },
				func() (*Socket, error) { return network.Dial(tt.addr, Config{}) },
			} {
				s, err := open()
				if err == nil {
					s.Close()
					t.Fatal("no error")
				}
				var open *OpenError
				if !errors.As(err, &open) || !strings.Contains(err.Error(), "write host:port, such as :7000") {
					t.Errorf("got %v", err)
				}
			}
		})
	}
	for _, addr := range []string{"127.0.0.1:0", ":7000", "0.0.0.0:7000"} {
		if s, err := Dial(addr, Config{}); err == nil {
			s.Close()
			t.Errorf("dialled %s, which is no peer", addr)
		}
	}
}

func TestAnAddressOfAnotherMachineCannotBeListenedOn(t *testing.T) {
	for _, c := range []Config{{}, {Plain: true}} {
		s, err := Listen("192.0.2.77:0", c) // TEST-NET-1: nobody's
		if err == nil {
			s.Close()
			t.Fatal("no error")
		}
		if !errors.Is(err, syscall.EADDRNOTAVAIL) || !strings.Contains(err.Error(), "this machine has no such address") {
			t.Errorf("got %v", err)
		}
	}
}

func TestFaultsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for f := range datagram.Fault(len(datagram.Faults{})) {
		if f.String() == "" || seen[f.String()] {
			t.Errorf("fault %d has the name %q", f, f)
		}
		seen[f.String()] = true
	}
	if got := datagram.Fault(200).String(); got != "unknown" {
		t.Errorf("fault 200 is %q", got)
	}
	if got := faultOf(netError("sendto", syscall.ENOBUFS)); got != datagram.FaultNoBuffers {
		t.Errorf("ENOBUFS is %v", got)
	}
	if got := faultOf(errors.New("x")); got != datagram.FaultOther {
		t.Errorf("an unknown error is %v", got)
	}
}

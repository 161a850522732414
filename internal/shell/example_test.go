package shell_test

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"parley/internal/shell"
	"parley/internal/udp"
)

// echo is a core without connections: it answers everyone with what they said.
type echo struct {
	to   netip.AddrPort
	said []byte
	seen int
}

func (e *echo) Advance(time.Time)              {}
func (e *echo) Len() int                       { return 0 }
func (e *echo) Shutdown(time.Time, string)     {}
func (e *echo) Abort(time.Time, string)        {}
func (e *echo) HandleTimeout(time.Time)        {}
func (e *echo) NextTimeout() (time.Time, bool) { return time.Time{}, false }

func (e *echo) HandleDatagram(_ time.Time, from netip.AddrPort, b []byte) {
	e.to, e.said = from, append(e.said[:0], b...)
	e.seen++
}

func (e *echo) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if len(e.said) == 0 {
		return 0, netip.AddrPort{}, false
	}
	n := copy(buf, e.said)
	e.said = e.said[:0]
	return n, e.to, true
}

// A dialect's Listen opens a socket and puts its core there.
func ExampleServe() {
	var network udp.Network // in memory; a program calls udp.Listen
	socket, err := network.Listen("127.0.0.1:7000", udp.Config{})
	if err != nil {
		panic(err)
	}
	core := new(echo)
	s := shell.Serve(socket, core, shell.ServerConfig{
		Name: "echo", Closed: errors.New("echo: server closed"), Events: func() {},
	})
	defer s.Close()

	client, err := network.Dial("127.0.0.1:7000", udp.Config{})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	out, in := client.NewSendBatch(), client.NewRecvBatch()
	out.Append([]byte("hello"), s.Addr())
	if err := client.Write(out); err != nil {
		panic(err)
	}
	if err := client.Read(in, time.Time{}); err != nil {
		panic(err)
	}
	fmt.Printf("the answer is %s\n", in.Next().Data)
	if err := s.Do(func() { fmt.Println("datagrams seen:", core.seen) }); err != nil {
		panic(err)
	}
	// Output:
	// the answer is hello
	// datagrams seen: 1
}

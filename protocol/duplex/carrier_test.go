package duplex

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/patient"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
	"parley/protocol/duplex/core"
)

// A server does not know what brings its mains: players at sockets and over pipes in memory are in one game.
func TestPlaysBesideTheSocket(t *testing.T) {
	patient.Test(t)
	sessions := new(kit.Sessions)
	h := hallAt(t, Config{Resync: -1}, shelltest.Kernel(udp.Config{}), nil, sessions.BesideTCP)
	x := h.enter(Config{})
	h.wait("the one at a socket joins", func() bool { return h.conns[1] != nil })
	var pipes []net.Conn
	for i := range 2 {
		c := sessions.Open()
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		c.Write([]byte{core.CodeConnInit, core.CodeConnFailed}) // without a feed
		h.wait("one over a pipe joins", func() bool { return h.conns[int16(i+2)] != nil })
		pipes = append(pipes, c)
	}
	h.set(7, 1)
	await(t, x, "sync 7 010000000000000001")
	for _, c := range pipes {
		reads(t, c, func(m *core.Message) bool {
			return m.Kind == core.KindSync && m.SID == 7 && bytes.Equal(m.Data, valueOf(1))
		})
		c.Write([]byte("\x41ping"))
		reads(t, c, func(m *core.Message) bool { return m.Kind == core.KindReply && string(m.Data) == "ping" })
	}
	pipes[0].Close()
	h.wait("it leaves", h.saw("2 closed: peer left"))
	if status, _, err := x.Query(t.Context(), Main, 65, []byte("ping")); err != nil || status != 0 {
		t.Errorf("status %d, %v", status, err)
	}
	over := make(chan error)
	go func() {
		_, err := io.Copy(io.Discard, pipes[1])
		over <- err
	}()
	if err := h.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := patient.Value(over); err != nil {
		t.Errorf("a pipe ends with %v", err)
	}
}

// reads reads messages until one is as wanted.
func reads(t *testing.T, c net.Conn, wanted func(m *core.Message) bool) {
	t.Helper()
	s := core.NewStream(gameSchema, core.FromServer)
	kit.ReadUntil(t, c, func(b []byte) bool {
		var m core.Message
		_, ok := s.Next(b, &m)
		return ok && wanted(&m)
	})
}

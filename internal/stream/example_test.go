package stream_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"parley/internal/stream"
)

// shouter is a core that sends back what comes.
type shouter struct{}

func (shouter) Opened(time.Time, *stream.Conn)                 {}
func (shouter) Writable(time.Time, *stream.Conn)               {}
func (shouter) Ended(time.Time, *stream.Conn, error)           {}
func (shouter) Received(_ time.Time, c *stream.Conn, b []byte) { c.Send(append(b, '!')) }

// A server on one goroutine. A real core has a queue for who is not Ready.
func Example() {
	var listener *stream.Listener
	loop := stream.NewLoop(func(now time.Time) (time.Time, bool) {
		listener.Turn(now, shouter{})
		return time.Time{}, false
	})
	listener, err := stream.Listen("127.0.0.1:0", stream.Config{Wake: loop.Wake})
	if err != nil {
		log.Fatal(err)
	}
	loop.Run()

	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(c, "hello")
	heard := make([]byte, 6)
	if _, err := io.ReadFull(c, heard); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", heard)
	c.Close()

	loop.Stop()
	<-loop.Done()
	listener.Close()
	// Output: hello!
}

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
type shouter struct{ to stream.Stream }

func (shouter) Opened(_ time.Time, s stream.Stream) stream.Receiver { return shouter{s} }
func (shouter) Writable(time.Time)                                  {}
func (shouter) Ended(time.Time, error)                              {}
func (s shouter) Received(_ time.Time, b []byte) int {
	s.to.Send(append(b, '!'))
	return len(b)
}

// A server on one goroutine. A real core has a queue for who is not Ready.
func Example() {
	listener, err := stream.Listen("127.0.0.1:0", stream.Config{})
	if err != nil {
		log.Fatal(err)
	}
	woken := make(chan struct{}, 1)
	listener.Start(func() {
		select {
		case woken <- struct{}{}:
		default: // it is awake
		}
	})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-woken:
				listener.Turn(time.Now(), shouter{})
			case <-stop:
				return
			}
		}
	}()

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

	close(stop)
	<-stopped
	listener.Close()
	// Output: hello!
}

package realm

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/patient"
	"parley/protocol/realm/core"
)

// crowdMain is a process of clients: one of its own, so that what is measured in the test is the server's alone, and each has the
// descriptors of its own end. It obeys lines of standard input, and ends with it:
//
//	join ADDR COUNT        so many clients; answers how many, when all are in the game
//	slow ADDR COUNT PAUSE  so many clients that say a byte after each pause; answers how many could not be opened
//	cut                    answers how many of those ended otherwise than by the server, when all have ended
func crowdMain(string) {
	var slow slowCrowd
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var verb, addr, pause string
		var clients int
		fmt.Sscan(lines.Text(), &verb, &addr, &clients, &pause)
		switch verb {
		case "join":
			joinAll(addr, clients)
			fmt.Println(clients)
		case "slow":
			every, _ := time.ParseDuration(pause)
			fmt.Println(slow.open(addr, clients, every))
		case "cut":
			patient.Done(slow.cut.Wait)
			fmt.Println(slow.other.Load())
		}
	}
}

// joinAll has so many clients join, who then read what comes.
func joinAll(addr string, clients int) {
	hello := testCodec.AppendTo(nil, &core.Message{Kind: core.KindVersion, Version: core.Version10})
	login := testCodec.AppendTo(nil, &core.Message{Kind: core.KindLogin, Name: []byte("somebody"), Password: []byte("password")})
	var met, in sync.WaitGroup
	met.Add(clients)
	in.Add(clients)
	slots := make(chan struct{}, 16)
	for range clients {
		slots <- struct{}{}
		go func() {
			socket, err := net.Dial("tcp", addr)
			if err != nil {
				panic(err)
			}
			c := tls.Client(socket, &tls.Config{InsecureSkipVerify: true})
			buf := make([]byte, 4096)
			c.Write(hello)
			c.Read(buf) // the config
			patient.Value(slots)
			met.Done()
			patient.Done(met.Wait) // all log in together, or each would be told of each later one by itself
			c.Write(login)
			c.Read(buf)
			in.Done()
			for err == nil {
				_, err = c.Read(buf)
			}
		}()
	}
	patient.Done(in.Wait)
}

// slowCrowd are clients that say a byte now and then.
type slowCrowd struct {
	cut   sync.WaitGroup
	other atomic.Int64 // that ended otherwise than by the server
}

// open opens clients that say a byte after each pause, and returns how many it could not open.
func (s *slowCrowd) open(addr string, clients int, pause time.Duration) int64 {
	var opened sync.WaitGroup
	var failed atomic.Int64
	slots := make(chan struct{}, 64)
	conns := make([]net.Conn, clients)
	for i := range clients {
		opened.Add(1)
		slots <- struct{}{}
		s.cut.Go(func() {
			c, err := openSlowly(addr, i)
			conns[i] = c
			if err != nil {
				failed.Add(1)
			}
			patient.Value(slots)
			opened.Done()
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "closed network connection") {
				s.other.Add(1)
			}
		})
	}
	patient.Done(opened.Wait)
	go func() {
		for range time.Tick(pause) {
			for _, c := range conns {
				if c != nil {
					c.Write([]byte{1}) // fails when it is cut
				}
			}
		}
	}()
	return failed.Load()
}

// openSlowly opens one of three sorts of slow connections.
func openSlowly(addr string, i int) (net.Conn, error) {
	// From as many hosts as it takes for each to have its places: Linux has all of 127.0.0.0/8.
	from := &net.TCPAddr{IP: net.IPv4(127, 1, byte(i%80/8), byte(1+i%8))}
	socket, err := (&net.Dialer{LocalAddr: from}).Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(socket, &tls.Config{InsecureSkipVerify: true})
	switch i % 3 {
	case 0:
		_, err = socket.Write([]byte{0x16, 3, 1}) // as a hello begins
		return socket, err
	case 1:
		_, err = secured.Write([]byte{18}) // as a version begins
	case 2:
		_, err = secured.Write([]byte{18, 0, 9, 3, 0, 200}) // a version, and as a login begins
	}
	return secured, err
}

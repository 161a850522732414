package blackbox

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"parley/internal/shell/shelltest"
	"parley/protocol/relay"
	"parley/test/field"
)

// floodSink, in the environment, has this test's program be a socket that reads and does nothing: of UDP, or of TCP.
const floodSink = "PARLEY_FLOOD_SINK"

// beFloodSink tells its address when it is asked, and reads until its standard input ends. Of TCP it reads once from each that connects.
func beFloodSink(network string) error {
	var at net.Addr
	var end io.Closer
	var read func() error
	buf := make([]byte, 2048)
	if network == "tcp" {
		l, err := net.Listen("tcp4", field.Any)
		if err != nil {
			return err
		}
		at, end, read = l.Addr(), l, func() error {
			c, err := l.Accept()
			if err == nil {
				c.Read(buf)
				c.Close()
			}
			return err
		}
	} else {
		c, err := net.ListenPacket("udp4", field.Any)
		if err != nil {
			return err
		}
		at, end, read = c.LocalAddr(), c, func() error { _, _, err := c.ReadFrom(buf); return err }
	}
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(at)
		}
		end.Close()
	}()
	for read() == nil {
	}
	return nil
}

// The flood: so many unreliable packages a second of one participant, into a room of so many.
const (
	floodRate  = 12_000
	floodRoom  = 40
	floodBytes = 64
)

// One participant of a relay room floods the others, and, by turns, the same flood goes to a bare socket of another process:
// what it does to the ticks of the server is told for both, and their ratio.
func BenchmarkFloodBesideABareSocket(b *testing.B) {
	if testing.Short() {
		b.Skip("it takes 20 s a round")
	}
	l := startLoaded(b, loadConfig{Drifters: 200, Players: 100, TickRate: 20})
	var room []*relay.Client
	for range floodRoom {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		c, err := relay.Dial(ctx, l.addrs["relay"], relay.Config{})
		cancel()
		if err != nil {
			b.Fatal(err)
		}
		go func() {
			for range c.Events() {
			}
		}()
		room = append(room, c)
	}
	sink, err := net.Dial("udp4", startSink(b, "udp"))
	if err != nil {
		b.Fatal(err)
	}
	defer sink.Close()
	var ratios50, ratios99 []float64
	for b.Loop() {
		control := floodFor(l, func(p []byte) { sink.Write(p) })
		flood := floodFor(l, func(p []byte) { _ = room[0].Send(relay.Unreliable, relay.ToOthers, p) })
		b.Logf("load %s; a bare socket: tick p50 %v p99 %v, %v CPU; the room: p50 %v p99 %v, %v CPU", machineLoad(), control.P50, control.P99, control.CPU, flood.P50, flood.P99, flood.CPU)
		ratios50 = append(ratios50, float64(flood.P50)/float64(control.P50))
		ratios99 = append(ratios99, float64(flood.P99)/float64(control.P99))
	}
	for _, c := range room {
		if err := c.Err(); err != nil {
			b.Errorf("a participant was removed: %v", err)
		}
	}
	b.ReportMetric(shelltest.Median(ratios50), "p50-ratio")
	b.ReportMetric(shelltest.Median(ratios99), "p99-ratio")
}

// floodFor sends the flood for ten seconds and returns what the server did meanwhile.
func floodFor(l *loaded, send func([]byte)) loadFigure {
	payload := make([]byte, floodBytes)
	l.say(loadMark)
	began := time.Now()
	for sent := 0; time.Since(began) < 10*time.Second; {
		for due := int(time.Since(began).Seconds() * floodRate); sent < due; sent++ {
			send(payload)
		}
		time.Sleep(time.Millisecond) // the flood's own pace
	}
	return l.say(loadFigures)
}

// startSink starts a sink in another process, and returns where it is.
func startSink(b *testing.B, network string) (addr string) {
	shelltest.StartHelper(b, floodSink, network).Ask(b, "where", &addr)
	return addr
}

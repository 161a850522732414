package program

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	front "parley"
	"parley/arena"
	"parley/internal/patient"
	"parley/play/bots"
	ground "parley/test/field"
)

// attackVar has a process be a crowd of clients of the API at an address, with a token.
const attackVar = "PARLEY_TEST_ATTACK"

// TestBeAnAttack is not a test but the clients of BenchmarkTicksUnderClientsOfTheAPI: 1,000 that are slow and 10,000 that ask for events and
// do not read them. It says when all are there, and stays until its input ends.
func TestBeAnAttack(t *testing.T) {
	addr, token, ok := strings.Cut(os.Getenv(attackVar), " ")
	if !ok {
		t.Skip("it is no test")
	}
	served := 0
	for i := range 11_000 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%11 == 0 {
			io.WriteString(c, []string{"", "GET /v1/rooms HTTP/1.1\r\nHost: 127", "POST /v1/rooms HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 60000\r\n\r\n{"}[i/11%3])
			continue
		}
		fmt.Fprintf(c, "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", token)
		c.SetReadDeadline(time.Now().Add(time.Minute))
		if line, err := bufio.NewReader(c).ReadString('\n'); err == nil && strings.Contains(line, " 200 ") {
			served++
		}
	}
	fmt.Printf("served %d\n", served)
	patient.Done(func() { io.Copy(io.Discard, os.Stdin) })
}

// BenchmarkTicksUnderClientsOfTheAPI compares the ticks of a server with 100 players while nobody asks for its pages and while 1,000 slow
// clients and 10,000 clients of events do, in a process of their own. An iteration is 100 ticks of each, by turns.
func BenchmarkTicksUnderClientsOfTheAPI(b *testing.B) {
	dir := b.TempDir()
	config := front.Config{Replica: "127.0.0.1:0", Stamp: front.Off, Relay: front.Off, Duplex: front.Off, DataDir: dir, PerAddress: -1, Log: discard()}
	s, err := front.Start(arena.Game(), config)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	f := serveFlags{app: ours(), web: "127.0.0.1:0", data: dir, tickRate: 20}
	page, err := f.page(s)
	if err != nil {
		b.Fatal(err)
	}
	defer page.Close(b.Context())
	token, err := os.ReadFile(dir + "/operator.token")
	if err != nil {
		b.Fatal(err)
	}
	crowd := bots.Crowd{Addrs: map[string]string{"replica": s.Addrs()[0].Addr.String()}, Bots: map[string]int{"replica": 100}, Seed: 1, Config: bots.Config{Schema: ground.Schema(b, arena.Game())}}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() { crowd.Run(ctx); close(ended) }()
	defer func() { stop(); patient.Value(ended) }()
	patient.Until(b, "all play", func() bool { return s.WorldStats().Players == 100 })
	measure := func(attack bool) (p50, p99 time.Duration) {
		if attack {
			child := exec.Command(os.Args[0], "-test.run", "^TestBeAnAttack$")
			child.Env = append(os.Environ(), attackVar+"="+page.Addr().String()+" "+strings.TrimSpace(string(token)))
			in, _ := child.StdinPipe()
			out, _ := child.StdoutPipe()
			if err := child.Start(); err != nil {
				b.Fatal(err)
			}
			lines := bufio.NewReader(out)
			if line, err := lines.ReadString('\n'); err != nil || line != "served 64\n" {
				b.Errorf("%q, %v", line, err)
			}
			defer func() { in.Close(); io.Copy(io.Discard, lines); patient.Exit(child) }()
		}
		before := s.WorldStats()
		patient.Until(b, "ticks pass", func() bool { return s.WorldStats().Ticks >= before.Ticks+100 })
		times := s.WorldStats().TickTimes.Since(before.TickTimes)
		return times.Quantile(.5), times.Quantile(.99)
	}
	var quiet50, quiet99, attacked50, attacked99 []float64
	for b.Loop() {
		p50, p99 := measure(false)
		quiet50, quiet99 = append(quiet50, float64(p50)), append(quiet99, float64(p99))
		p50, p99 = measure(true)
		attacked50, attacked99 = append(attacked50, float64(p50)), append(attacked99, float64(p99))
	}
	b.ReportMetric(middle(quiet50)/1e6, "quiet-p50-ms")
	b.ReportMetric(middle(attacked50)/1e6, "attacked-p50-ms")
	b.ReportMetric(middle(quiet99)/1e6, "quiet-p99-ms")
	b.ReportMetric(middle(attacked99)/1e6, "attacked-p99-ms")
	b.ReportMetric(middle(attacked99)/middle(quiet99), "p99-ratio")
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func middle(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

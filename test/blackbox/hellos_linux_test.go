package blackbox

import (
	"fmt"
	"testing"
	"time"

	"parley/internal/shell/shelltest"
	"parley/test/attack"
)

// hellosRate is how many recorded hellos a second one address sends.
const hellosRate = 3500

// One address sends recorded ClientHellos to realm while honest players of another log in. Rounds have three parts of ten
// seconds: without the flood, with the flood at a bare listener of another process, which costs the machine what the sender
// does, and with the flood at the server. It reports the ticks' p50 and p99 and the honest log-ins of each part; 15.7.
//
//	go test ./test/blackbox -run '^$' -bench RecordedHellos -benchtime 5x
func BenchmarkRecordedHellos(b *testing.B) {
	if testing.Short() {
		b.Skip("it takes 30 s a round")
	}
	l := startLoaded(b, loadConfig{Players: 1000, TickRate: 20, Guarded: true})
	sink, hello := startSink(b, "tcp"), attack.Hello(b)
	parts := []*hellosPart{{name: "quiet"}, {name: "bare", to: sink}, {name: "flood", to: l.addrs["realm"]}}
	names := 0
	for b.Loop() {
		for _, p := range parts {
			f := p.run(l, hello, &names)
			b.Logf("load %s; %s: %d hellos; tick p50 %v p99 %v longest %v, %v CPU; %d log-ins, %d failed %v", machineLoad(), p.name, p.hellos, f.P50, f.P99, f.Longest, f.CPU,
				p.in, p.failed, p.why)
		}
	}
	for _, p := range parts {
		b.ReportMetric(shelltest.Median(p.p50), p.name+"-p50-ms")
		b.ReportMetric(shelltest.Median(p.p99), p.name+"-p99-ms")
		b.ReportMetric(float64(p.in), p.name+"-logins")
		b.ReportMetric(float64(p.failed), p.name+"-failed")
		if p.in > 0 {
			b.ReportMetric(shelltest.Median(p.took), p.name+"-login-ms")
		}
		b.ReportMetric(float64(p.hellos), p.name+"-hellos")
	}
}

// hellosPart is what one part of the rounds showed.
type hellosPart struct {
	name       string
	to         string // where the flood goes; "" is nowhere
	p50, p99   []float64
	took       []float64 // by log-ins
	in, failed int
	why        error // the last that failed
	hellos     int
}

func (p *hellosPart) run(l *loaded, hello []byte, names *int) loadFigure {
	l.say(loadMark)
	end := time.Now().Add(10 * time.Second)
	if p.to != "" {
		flood := attack.SendHellos(p.to, "127.0.0.2", hello, hellosRate)
		defer func() {
			flood.Stop()
			p.hellos += flood.Sent()
		}()
	}
	for time.Now().Before(end) {
		*names++
		began := time.Now()
		if err := logIn(l.addrs, fmt.Sprint("honest", *names)); err != nil {
			p.failed++
			p.why = err
			continue
		}
		p.in++
		p.took = append(p.took, milliseconds(time.Since(began)))
	}
	f := l.say(loadFigures)
	p.p50, p.p99 = append(p.p50, milliseconds(f.P50)), append(p.p99, milliseconds(f.P99))
	return f
}

// logIn has somebody register, log in and leave.
func logIn(addrs map[string]string, name string) error {
	c, err := newRealm(addrs)
	if err != nil {
		return err
	}
	defer c.close()
	return c.join(name)
}

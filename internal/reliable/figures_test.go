package reliable

import (
	"fmt"
	"testing"
	"time"

	"parley/simnet"
)

// BenchmarkEchoUnderLoss prints the figures of docs/engine.md: round trips of a
// 60 Hz flow of 64-byte messages over 25 ms + 0–5 ms each way. It runs in virtual
// time, so they are the same on every machine.
func BenchmarkEchoUnderLoss(b *testing.B) {
	for _, rule := range []Rule{Unordered, Linked} {
		for _, noEarly := range []bool{true, false} {
			for _, loss := range []float64{0, .01, .02, .05, .10, .20} {
				name := fmt.Sprintf("%v/early=%v/loss=%.0f%%", rule, !noEarly, loss*100)
				b.Run(name, func(b *testing.B) {
					path := simnet.Profile{Delay: 25 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: loss}
					var r flowResult
					for b.Loop() {
						r = echoFlow(b, 1, path, 5*time.Minute, rule, &SendConfig{NoEarly: noEarly})
					}
					b.ReportMetric(ms(r.p50), "p50-ms")
					b.ReportMetric(ms(r.p95), "p95-ms")
					b.ReportMetric(ms(r.p99), "p99-ms")
					b.ReportMetric(ms(r.max), "max-ms")
					b.ReportMetric(float64(r.datagrams)/float64(r.delivered), "datagrams/msg")
				})
			}
		}
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

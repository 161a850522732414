package sqlite

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
)

// Durable writes: one after the other, and of 64 at once, which share their flushes.
func BenchmarkCreate(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := openNew(b)
			var n atomic.Int64
			b.SetParallelism(max(1, writers/2))
			if writers == 1 {
				for b.Loop() {
					mustCreate(b, s, fmt.Sprint("player", n.Add(1)))
				}
				return
			}
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if _, err := s.Create(context.Background(), record(fmt.Sprint("player", n.Add(1)))); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/float64(s.writer.commits.Load()), "writes/flush")
		})
	}
}

func BenchmarkFind(b *testing.B) {
	s := openNew(b)
	for i := range 1000 {
		mustCreate(b, s, fmt.Sprint("player", i))
	}
	i := 0
	for b.Loop() {
		if _, err := s.Find(context.Background(), fmt.Sprint("player", i%1000)); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

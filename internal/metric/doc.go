// Package metric holds the counters of the packet path: sums of whole structs of counters, and histograms of durations
// that cost one addition each.
//
// # Usage
//
//	type Stats struct{ In, Out uint64 }
//
//	var sums = metric.NewAdder[Stats]()
//
//	sums.Add(&total, &one)       // field by field
//	var trips metric.Times       // a histogram; the zero value is empty
//	trips.Add(25 * time.Millisecond)
//
// Files: adder.go, times.go.
//
// # What it does not do
//
// Nothing here is safe for several goroutines: a loop owns its counters, and readers get a copy.
package metric

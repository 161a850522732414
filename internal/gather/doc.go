// Package gather lets a reader of many sockets be woken seldom: it waits a moment for more when that pays.
//
//	g := gather.Gatherer{Span: gather.Default}
//	…
//	if g.Due(time.Now()) { // the poller has woken the reader
//		gather.Pause(g.Span)
//	}
//	n := read()
//	more := g.Brought(n, n) // whether to wait again
package gather

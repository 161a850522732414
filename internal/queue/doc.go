// Package queue holds the two queues that every dialect needs: Fifo, first in, first out,
// and Packets, the same for packets in lent buffers, which counts the memory that they
// hold.
//
//	var q queue.Fifo[int]
//	q.Push(1)
//	for q.Len() > 0 {
//		use(q.Pop())
//	}
//
// They allocate only to grow, and one goroutine owns each. They have no bound of their
// own: the caller checks Len or Held before it pushes. The caller's limits.go has the
// bound and says what happens beyond it.
package queue

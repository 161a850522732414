// Package queue holds the two queues that every dialect needs: Fifo, first in, first
// out, and Packets, the same for packets in lent buffers that knows how much memory
// they hold.
//
//	var q queue.Fifo[int]
//	q.Push(1)
//	for q.Len() > 0 {
//		use(q.Pop())
//	}
//
// They are pure, allocate only to grow and are owned by one goroutine. They have no
// bound of their own: who pushes asks Len or Held first, and its limits.go says how
// much is too much and what happens then.
package queue

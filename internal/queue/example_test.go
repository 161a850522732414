package queue_test

import (
	"fmt"

	"parley/internal/queue"
)

func Example() {
	var q queue.Fifo[string]
	q.Push("first")
	q.Push("second")
	for q.Len() > 0 {
		fmt.Println(q.Pop())
	}
	// Output:
	// first
	// second
}

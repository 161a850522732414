package main

import (
	"runtime"
	"sync"
)

// thread is a thread of the operating system that does what it is asked. A child is told to die with the thread that started
// it, and what a thread starts is in the network of the thread, so who starts children has one and keeps it.
type thread struct {
	todo chan func()
}

func newThread() thread {
	t := thread{make(chan func())}
	go func() {
		// Nobody unlocks it, so the thread ends with this goroutine.
		runtime.LockOSThread()
		for do := range t.todo {
			do()
		}
	}()
	return t
}

// do does something in the thread, and returns when it is done.
func (t thread) do(what func()) {
	done := make(chan struct{})
	t.todo <- func() {
		defer close(done)
		what()
	}
	<-done
}

func (t thread) end() { close(t.todo) }

// nursery is the thread of all children without a network of their own. It never ends.
var nursery = sync.OnceValue(newThread)

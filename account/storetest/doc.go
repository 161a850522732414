// Package storetest holds the tests that every account.Store passes, and Memory, a store that passes
// them without a database.
//
// # Usage
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) account.Store { return openMine(t) })
//	}
//
// # What there is
//
//	run.go      Run: the suite, a test for each promise of account.Store
//	model.go    random sequences of calls, held against Memory
//	writers.go  many writers at once
//	hostile.go  names that are no names
//	memory.go   Memory
//
// # Limits
//
// The counts of the random tests are a few seconds' worth; PARLEY_SOAK=1 raises them to 10^4
// sequences, and -short lowers them. Memory has no limit but the machine's.
//
// # What it does not do
//
// It cannot test that a store survives kill -9 or power loss: the tests of package sqlite do, for it.
// Memory survives nothing.
package storetest

// Package storetest holds the tests that every account.Store passes, and Memory, a store that passes
// them without a database.
//
// # Usage
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) account.Store { return openMine(t) })
//	}
//
// # Files
//
//	run.go      Run: the suite, a test for each promise of account.Store
//	model.go    random sequences of calls, compared with Memory
//	writers.go  many writers at once
//	hostile.go  invalid names
//	memory.go   Memory
//
// For stores in files and SQL databases:
//
//	crash.go       processes that write and are killed
//	migrations.go  migrations up, down and up again
//
// # Limits
//
// The random tests take a few seconds; PARLEY_SOAK=1 raises their counts to 10^4 sequences, and
// -short lowers them. Only the machine's memory limits Memory.
//
// # What it does not do
//
// Run does not test that a store survives kill -9 or power loss; package sqlite has tests of its own for
// that. Memory survives neither.
package storetest

// Package layout holds the tests that keep the shape of the project: which
// package may import which, what pure code may not touch, and that files stay
// small, documented and free of leftovers. It has no code of its own.
//
// # Usage
//
//	go test ./test/layout
//
// # Life of a check
//
//	table_test.go    the packages: what each may import, and which of its files are shell
//	tree_test.go     finds the module and reads its files
//	imports_test.go  holds imports against the table
//	floors_test.go   looks for imports that run up, at every level of folders
//	purity_test.go   looks for clocks, sockets, locks and global randomness in pure files
//	tidy_test.go     length, package comments, leftovers, words that do not belong here
//	links_test.go    links of pages that lead nowhere, and pages that no link leads to
//	layout_test.go   runs them all over the tree
//
// Every check is a function from source text to problems, so that its own test
// can show that it finds what it is for.
//
// # A new package
//
// A package without a row in the table fails the test: decide first what it
// may know, then write it.
//
// # What it does not do
//
// It looks at direct imports of files that are not tests, on every platform at
// once. A pure file can still reach a clock through a value that it is given:
// that is what values are for.
package layout

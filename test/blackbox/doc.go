// Package blackbox holds tests only: they drive the built program as a stranger would, with
// bytes that are written here from the pages of the protocols and none of their packages. So a
// mistake that client and server of a package share is found here, and nowhere else.
//
// harness_test.go builds and starts the program, wire_test.go reads and writes numbers,
// and each dialect has a client in a file of its own, as small as one can be.
package blackbox

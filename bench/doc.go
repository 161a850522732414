// Command bench measures parley and what a user would pick instead, on the same work, in
// one run, on one machine.
//
//	cd bench && go run . -quick
//	go run . -work W1,W2 -peers replica,tcp
//
//	W1  reliable 64-byte messages at 60 Hz, echoed over a path that delays and loses
//	W2  one connection, reliable ordered 64-byte messages as fast as they go
//	W3  1,000 and 4,000 clients, 32 bytes up and 200 down at 20 Hz
//
// Server, clients and the bad network are processes of their own, so that CPU time and
// memory are theirs alone: the program starts itself with -role and talks to itself over
// pipes (child.go). A peer is a protocol in one of its modes behind a small interface
// (peers.go, one file each): another is added with two functions. A work is a file too
// (work_*.go).
package main

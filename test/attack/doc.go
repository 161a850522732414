// Package attack holds tests: attacks on a whole server at real sockets, each written once, with an adapter a
// dialect. An adapter says what a stranger sends first, how a connection gets as far as it can without entering, and
// how an honest player enters.
//
// door_test.go has the adapters, attack_test.go the attacks. The sources of the attackers are addresses of the loopback
// network, so that each has its own. hello.go has the flood of recorded TLS hellos, for the tests of other packages too.
package attack

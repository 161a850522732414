// Package core is the duplex dialect without sockets, goroutines and clocks.
package core

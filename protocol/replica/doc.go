// Package replica is the replica dialect: UDP, little endian, one packet a
// datagram. So far it holds the codec of its thirteen packets.
package replica

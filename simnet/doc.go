// Package simnet is a network in memory in virtual time, for tests of code that speaks over datagrams.
package simnet

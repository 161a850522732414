// Package nodes has the tests of servers that run the same rooms: players of all dialects at several servers, which come and go.
package nodes

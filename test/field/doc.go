// Package field starts a whole server for a test, at ports of the system's choice, and has visitors join it over any
// dialect. Only tests import it.
//
// server.go has the server, visitor.go the visitors.
package field

package parley

import (
	"time"

	"parley/play/gateway"
)

// Errors of tickets. Test for them with errors.Is.
var (
	// ErrNoTicketKey means that Config.TicketKey is not set: no ticket is needed, and none can be made.
	ErrNoTicketKey = gateway.ErrNoTicketKey
	// ErrTicket means that there can be no such ticket: its room, name or time is wrong.
	ErrTicket = gateway.ErrTicket
)

// Ticket makes a ticket with Config.TicketKey: bytes that let one player into the room, over replica, relay or duplex, under the
// name. It is valid for ttl, which is 1 second to 30 days. An empty room is MainRoom. An empty name makes the player a guest. The room
// need not be open yet. Any program that has the key can make tickets too, see protocol/relay.
func (s *Server) Ticket(room, name string, ttl time.Duration) ([]byte, error) {
	return s.hub.Gate().Ticket(room, name, ttl)
}

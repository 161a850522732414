package gateway

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"parley/account"
	"parley/play/message"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
)

// Errors of tickets that are to be made.
var (
	// ErrNoTicketKey means that the server has no key to sign tickets with.
	ErrNoTicketKey = errors.New("there is no ticket key")
	// ErrTicket means that there can be no such ticket: its room, name or time is wrong.
	ErrTicket = errors.New("no such ticket")
)

// Ticket makes a ticket with the operator's key, or returns ErrNoTicketKey if there is none. An empty room is the main room.
func (g *Gatekeeper) Ticket(room, name string, valid time.Duration) ([]byte, error) {
	if g.key == nil {
		return nil, ErrNoTicketKey
	}
	return g.issue(g.key, room, name, valid)
}

// MatchTicket makes a ticket for a room that was opened for a match: with the operator's key, or with the server's own if there is
// none. The latter is good for no other room, and not after a restart.
func (g *Gatekeeper) MatchTicket(room, name string, valid time.Duration) ([]byte, error) {
	if g.key != nil {
		return g.issue(g.key, room, name, valid)
	}
	return g.issue(g.own, room, name, valid)
}

func (g *Gatekeeper) issue(key relay.TicketKey, room, name string, valid time.Duration) ([]byte, error) {
	if room != "" && !message.IsRoomName(room) {
		return nil, fmt.Errorf("%w: a room named %q: a name has 1 to %d of a-z, 0-9 and -", ErrTicket, room, message.MaxRoomName)
	}
	if valid < time.Second || valid > maxTicketTime {
		return nil, fmt.Errorf("%w: valid for %v: it must be at least 1s and at most %v", ErrTicket, valid, maxTicketTime)
	}
	if err := CheckTicketName(name); err != nil {
		return nil, err
	}
	t := relaycore.Ticket{Room: room, Name: name, Expires: g.clock().Add(valid)}
	rand.Read(t.Serial[:])
	return key.Issue(t)
}

// CheckTicketName refuses a name that its player would not have in the game: a ticket says a name for sure, a wish does not.
func CheckTicketName(name string) error {
	switch {
	case len(name) > maxName:
		return fmt.Errorf("%w: a name of %d bytes: the limit is %d", ErrTicket, len(name), maxName)
	case fitName(name) != name:
		return fmt.Errorf("%w: the name %q would be shown as another: leave out blanks at its ends, and bytes that are not UTF-8", ErrTicket, name)
	case account.Reserved(name):
		return fmt.Errorf("%w: %q looks like the name of the server itself, or of a guest: choose another", ErrTicket, name)
	}
	return nil
}

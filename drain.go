package parley

import (
	"context"
	"errors"

	"parley/play/gateway"
)

// ErrAlone means that a server has no Config.Cluster.
var ErrAlone = gateway.ErrAlone

// Drain empties a server of a cluster, before Close. Nobody is let in any more. Other servers make the entries of its rooms from then on. Then
// its players are told to go on elsewhere, and are there again a moment later as who they were, if their clients can come back
// (Player.Returns). Drain returns nil when nobody is left, and an error if ctx ends before: Close is then as for a server that is not drained.
// It cannot be taken back.
//
// elsewhere returns where players find the other servers, for what they came over: replica, relay or duplex, and ws and wt for browsers of
// whichever dialect. Each address is host:port. Drain asks again while it goes on. A player of a dialect that it returns nothing for comes back
// over the addresses that its client has, as players of realm and spectators do, who are told none. Call Drain only while another server of
// the cluster lives: nobody makes entries else.
func (s *Server) Drain(ctx context.Context, elsewhere func(over string) []string) error {
	switch err := s.hub.Drain(ctx, elsewhere); {
	case errors.Is(err, gateway.ErrPlaying):
		return ErrInStep
	case errors.Is(err, gateway.ErrEnded):
		return ErrClosed
	default:
		return err
	}
}

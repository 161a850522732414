package parley

import (
	"errors"
	"strings"

	"parley/account"
	"parley/play/gateway"
	"parley/play/keep"
	"parley/play/match"
	"parley/protocol/duplex"
	"parley/protocol/realm"
	"parley/protocol/relay"
	"parley/protocol/relay/connector"
	"parley/protocol/replica"
	"parley/protocol/stamp"
)

// Stats are the counters of a server. The field of a dialect that is off is nil.
type Stats struct {
	World     gateway.Stats
	Fields    FieldStats
	Replica   *replica.ServerStats
	Stamp     *stamp.ServerStats
	Relay     *relay.ServerStats
	Connector *connector.ServerStats // with Config.RelayConnector, in place of Relay
	Duplex    *duplex.ServerStats
	Realm     *realm.ServerStats
	Accounts  *account.Stats
	Keep      *keep.Stats // nil if rooms are not kept
	Matches   match.Stats // see Server.Match
	Log       LogStats
	Bans      int // of addresses
}

// FieldStats are the bytes of entities' fields that players were sent, by dialect.
type FieldStats struct{ Replica, Stamp, Relay, Duplex, Realm gateway.FieldBytes }

// LogStats are the counters of the log.
type LogStats struct {
	Lines   uint64 // written
	Limited uint64 // left out, because lines of their kind came too often
	Dropped uint64 // left out, because the buffer was full
	Waiting int    // in the buffer now
}

// Stats returns all counters. It asks each dialect in turn, and each dialect goes through all its connections, so call it
// a few times a second at most. WorldStats is cheap.
func (s *Server) Stats() Stats {
	st := Stats{World: s.hub.Stats(), Matches: s.matches.stats(), Log: LogStats(s.log.Stats()), Bans: s.bans.count()}
	for _, d := range s.dialects {
		if d.stats != nil {
			d.stats(&st)
		}
	}
	if s.accounts != nil {
		a := s.accounts.Stats()
		st.Accounts = &a
	}
	if s.shelf != nil {
		k := s.shelf.Stats()
		st.Keep = &k
	}
	return st
}

// Trouble returns what is wrong with a server that runs, with a line for each: rooms that were given up or left aside, accounts
// that cannot be read, rooms that cannot be written. It returns nil if nothing is. /readyz of the program says the same.
func (s *Server) Trouble() error {
	lines := []error{s.hub.Degraded()}
	if s.accounts != nil {
		lines = append(lines, oneLine(s.accounts.Trouble()))
	}
	if s.shelf != nil {
		lines = append(lines, oneLine(s.shelf.Trouble()))
	}
	return errors.Join(lines...)
}

// oneLine returns an error whose text has one line: those of databases have more.
func oneLine(err error) error {
	if err == nil || !strings.ContainsAny(err.Error(), "\r\n") {
		return err
	}
	return flat{err}
}

type flat struct{ error }

func (f flat) Error() string { return strings.Join(strings.Fields(f.error.Error()), " ") }
func (f flat) Unwrap() error { return f.error }

// WorldStats returns the counters of the world, as of the last tick.
func (s *Server) WorldStats() gateway.Stats { return s.hub.Stats() }

package player

import (
	"errors"
	"time"

	"parley/play/message"
	"parley/protocol/duplex"
	duplexcore "parley/protocol/duplex/core"
	"parley/protocol/realm"
	realmcore "parley/protocol/realm/core"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/protocol/replica"
	replicacore "parley/protocol/replica/core"
	"parley/protocol/stamp"
	stampcore "parley/protocol/stamp/core"
)

// fate is what an end means for a player who would come back.
type fate uint8

const (
	lost    fate = iota + 1 // the connection or the server is gone, or the server is full: come again
	silent                  // nobody answered: the server is gone, or does not look at this pass
	refused                 // the server does not take this pass
	over                    // the player was told to go, or has gone itself
)

// closingLine is what a server says to all before it closes: docs/gateway.md. Whoever was told so may come back.
const closingLine = "server closing"

// kickMoment is how long before the end of a connection a server says why it ends it, over dialects whose goodbye has no words.
const kickMoment = 500 * time.Millisecond

// fateOf says what the end of a connection means. A connection that could not be made has no line.
func fateOf(l *line, why error) fate {
	var (
		atReplica replica.Close
		atStamp   stamp.Close
		atRelay   relay.Close
		atDuplex  duplex.Close
		atRealm   realm.Close
		login     *notLetIn
	)
	switch {
	case l != nil && l.ignored:
		return silent
	case l != nil && l.refused != "":
		return fateOfText(l.refused)
	case errors.As(why, &atReplica):
		return replicaFate(l, &atReplica)
	case errors.As(why, &atStamp):
		return stampFate(&atStamp)
	case errors.As(why, &atRelay):
		return relayFate(l, &atRelay)
	case errors.As(why, &atDuplex):
		return duplexFate(l, &atDuplex)
	case errors.As(why, &atRealm):
		return realmFate(&atRealm)
	case errors.As(why, &login):
		return loginFate(login.code)
	case errors.Is(why, realm.ErrFingerprint):
		return over // somebody else answers there
	}
	return lost // the system's errors: nobody is there
}

// fateOfText says what the words of a server mean that does not let a player in.
func fateOfText(text string) fate {
	switch text {
	case "no such session", "no such room", "room needs a ticket", "ticket is not valid", "ticket was used":
		return refused
	}
	return lost // it is full or busy: come again
}

func replicaFate(l *line, c *replica.Close) fate {
	switch {
	case c.Reason == replicacore.ReasonProtocol:
		return over
	case c.Reason == replicacore.ReasonRejected:
		return fateOfText(c.Text)
	case c.Reason != replicacore.ReasonPeer || c.Text == closingLine || c.Text == "":
		return lost
	case l == nil || !l.entered:
		return fateOfText(c.Text)
	}
	return over // kicked, or resumed elsewhere
}

func stampFate(c *stamp.Close) fate {
	if c.Reason == stampcore.ReasonProtocol || c.Reason == stampcore.ReasonPeer && c.Text != closingLine {
		return over
	}
	return lost
}

func relayFate(l *line, c *relay.Close) fate {
	switch c.Reason {
	case relaycore.ReasonProtocol:
		return over
	case relaycore.ReasonRefused:
		return fateOfText(c.Text)
	case relaycore.ReasonRemoved:
		return l.goodbye()
	}
	return lost
}

// The statuses of a pass that is refused, as far as they matter here.
const statusFull = 6

func duplexFate(l *line, c *duplex.Close) fate {
	switch c.Reason {
	case duplexcore.ReasonProtocol:
		return over
	case duplexcore.ReasonRefused:
		if c.Status == 0 || c.Status == statusFull {
			return lost
		}
		return refused
	case duplexcore.ReasonPeer:
		return l.goodbye()
	}
	return lost
}

// goodbye says what it means that the server ended the connection, in a dialect without words for it: a server that does so to one
// player says why in the moment before.
func (l *line) goodbye() fate {
	if l == nil || l.words == "" || l.words == closingLine || time.Since(l.spoken) > kickMoment {
		return lost
	}
	return over
}

func realmFate(c *realm.Close) fate {
	switch {
	case c.Reason == realmcore.ReasonProtocol, c.Reason == realmcore.ReasonVersion:
		return over
	case c.Reason != realmcore.ReasonPeer:
		return lost
	}
	switch c.Exit {
	case realmcore.ExitServerClosed, realmcore.ExitNetworkError, realmcore.ExitPingTimeout:
		return lost
	}
	return over
}

func loginFate(code realmcore.LoginCode) fate {
	switch code {
	case realmcore.LoginTooManyTries, realmcore.LoginAlreadyConnected, realmcore.LoginPlayerLimitReached:
		return lost
	}
	return refused
}

// isClosed reports whether something could not be sent because the connection has ended.
func isClosed(err error) bool {
	for _, closed := range []error{replica.ErrClosed, relay.ErrClosed, duplex.ErrClosed, realm.ErrClosed, stamp.ErrClosed} {
		if errors.Is(err, closed) {
			return true
		}
	}
	return false
}

// firstPass is what the player shows when it comes for the first time, nil if nothing.
func (p *Player) firstPass() []byte {
	c := &p.cfg
	switch {
	case !TakesTicket(p.Dialect):
		return nil
	case c.Session != (message.Token{}):
		return message.AppendSessionPass(nil, c.Session)
	case len(c.Ticket) > 0:
		return c.Ticket
	case c.Room != "":
		return message.AppendRoomPass(nil, c.Room, c.Name)
	}
	return nil
}

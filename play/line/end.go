package line

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"parley/internal/call"
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

// emptiedLine is what a server of a cluster says to whoever comes while it is drained.
const emptiedLine = "the server is being emptied: connect to another"

// busyLine is what a server says to whoever is to come again in a moment.
const busyLine = "the game is busy: come again"

// kickMoment is how long before the end of a connection a server says why it ends it, over dialects whose goodbye has no words.
const kickMoment = 500 * time.Millisecond

// fateOf says what the end of a connection means. A connection that could not be made has no line.
func fateOf(c *Conn, why error) fate {
	var (
		atReplica replica.Close
		atStamp   stamp.Close
		atRelay   relay.Close
		atDuplex  duplex.Close
		atRealm   realm.Close
		login     *notLetIn
	)
	var distrusted *distrust
	switch {
	case c != nil && c.other != nil, errors.As(why, &distrusted), errors.Is(why, ErrOtherGame), errors.Is(why, call.ErrUntrusted):
		return over
	case c != nil && c.ignored:
		return silent
	case c != nil && c.refused != "":
		return fateOfText(c.refused)
	case errors.As(why, &atReplica):
		return replicaFate(c, &atReplica)
	case errors.As(why, &atStamp):
		return stampFate(&atStamp)
	case errors.As(why, &atRelay):
		return relayFate(c, &atRelay)
	case errors.As(why, &atDuplex):
		return duplexFate(c, &atDuplex)
	case errors.As(why, &atRealm):
		return realmFate(&atRealm)
	case errors.As(why, &login):
		return loginFate(login.code)
	}
	return lost // the system's errors: nobody is there
}

// bannedWord is what the refusal of a player begins with whose address is banned.
const bannedWord = "banned"

// mayBeElsewhere reports whether the next address may let in a player whom this one does not: nobody is there, or the server is full, busy
// or being emptied.
func mayBeElsewhere(c *Conn, why error) bool {
	var (
		atReplica replica.Close
		atStamp   stamp.Close
		atRelay   relay.Close
		text      string
	)
	switch {
	case c != nil && c.refused != "":
		text = c.refused
	case errors.As(why, &atReplica):
		text = atReplica.Text
	case errors.As(why, &atStamp):
		text = atStamp.Text
	case errors.As(why, &atRelay):
		text = atRelay.Text
	}
	return fateOf(c, why) == lost && !strings.HasPrefix(text, bannedWord)
}

// fateOfText says what the words of a server mean that does not let a player in.
func fateOfText(text string) fate {
	switch text {
	case "no such session", "no such room", "room needs a ticket", "ticket is not valid", "ticket was used":
		return refused
	}
	return lost // it is full or busy: come again
}

func replicaFate(c *Conn, end *replica.Close) fate {
	switch {
	case end.Reason == replicacore.ReasonProtocol:
		return over
	case end.Reason == replicacore.ReasonRejected:
		return fateOfText(end.Text)
	case end.Reason != replicacore.ReasonPeer || end.Text == closingLine || end.Text == "":
		return lost
	case c == nil || !c.entered:
		return fateOfText(end.Text)
	}
	return over // kicked, or resumed elsewhere
}

func stampFate(c *stamp.Close) fate {
	switch {
	case c.Reason == stampcore.ReasonProtocol:
		return over
	case c.Reason == stampcore.ReasonPeer && c.Text != closingLine && c.Text != emptiedLine && c.Text != busyLine:
		return over
	}
	return lost
}

func relayFate(c *Conn, end *relay.Close) fate {
	switch end.Reason {
	case relaycore.ReasonProtocol:
		return over
	case relaycore.ReasonRefused:
		return fateOfText(end.Text)
	case relaycore.ReasonRemoved:
		return c.goodbye()
	}
	return lost
}

// The statuses of a pass that is refused, as far as they matter here: docs/gateway.md.
const (
	statusDenied = 3
	statusFull   = 6
	statusAbsent = 8
)

func duplexFate(c *Conn, end *duplex.Close) fate {
	switch end.Reason {
	case duplexcore.ReasonProtocol:
		return over
	case duplexcore.ReasonRefused:
		if end.Status == 0 || end.Status == statusFull {
			return lost
		}
		return refused
	case duplexcore.ReasonPeer:
		return c.goodbye()
	}
	return lost
}

// goodbye says what it means that the server ended the connection, in a dialect without words for it: a server that does so to one
// player says why in the moment before.
func (c *Conn) goodbye() fate {
	if c.says() == "" || c.words == closingLine {
		return lost
	}
	return over
}

// says returns the words with which a server has ended a connection, "" if it has said nothing.
func (c *Conn) says() string {
	if c == nil || c.ended.Sub(c.spoken) > kickMoment {
		return ""
	}
	return c.words
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

// IsClosed reports whether something could not be sent because the connection has ended.
func IsClosed(err error) bool {
	for _, closed := range []error{replica.ErrClosed, relay.ErrClosed, duplex.ErrClosed, realm.ErrClosed, stamp.ErrClosed} {
		if errors.Is(err, closed) {
			return true
		}
	}
	return false
}

// firstPass is what the player shows when it comes for the first time, nil if nothing.
func firstPass(c *Config, dialect string) []byte {
	switch {
	case !HasSessions(dialect):
		return nil
	case c.Session != (message.Token{}):
		return message.AppendSessionPass(nil, c.Session)
	case len(c.Ticket) > 0:
		return c.Ticket
	case c.Room != "" || c.Name != "":
		return message.AppendRoomPass(nil, cmp.Or(c.Room, message.MainRoom), c.Name)
	}
	return nil
}

// isRefusal reports whether a server has answered, and does not let a player in.
func isRefusal(why error) bool {
	var (
		atReplica replica.Close
		atStamp   stamp.Close
		atRelay   relay.Close
		atDuplex  duplex.Close
		login     *notLetIn
	)
	switch {
	case errors.As(why, &atReplica):
		return atReplica.Reason == replicacore.ReasonRejected || atReplica.Reason == replicacore.ReasonPeer
	case errors.As(why, &atStamp):
		return atStamp.Reason == stampcore.ReasonRejected || atStamp.Reason == stampcore.ReasonPeer
	case errors.As(why, &atRelay):
		return atRelay.Reason == relaycore.ReasonRefused || atRelay.Reason == relaycore.ReasonRemoved
	case errors.As(why, &atDuplex):
		return atDuplex.Reason == duplexcore.ReasonRefused || atDuplex.Reason == duplexcore.ReasonPeer
	}
	return errors.As(why, &login)
}

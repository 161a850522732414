package core

import "strconv"

// ExitCode is the reason why a stream ends: "le stream est fermé après réception ou envoi
// d'un exit".
type ExitCode uint8

// The exit codes of the document.
const (
	ExitClientQuit     ExitCode = iota // the client leaves
	ExitServerClosed                   // the server shuts down
	ExitNetworkError                   // bad input, or a reader that is too slow
	ExitPingTimeout                    // nothing came for too long
	ExitClientKicked                   // the client was kicked
	ExitClientBanned                   // the client was banned
	ExitClientOutdated                 // the client's version is older than the server's
	ExitServerOutdated                 // the client's version is newer than the server's

	exitCodes = 8
)

var exitNames = [...]string{"client_quit", "server_closed", "network_error", "ping_timeout", "client_kicked", "client_banned",
	"client_outdated", "server_outdated"}

// String returns the document's name for the code.
func (c ExitCode) String() string { return codeName(uint8(c), exitNames[:]) }

// LoginCode is the answer to a login.
type LoginCode uint8

// The answers to a login.
const (
	LoginOK                 LoginCode = iota // logged in
	LoginUnknownPseudo                       // there is no such account
	LoginWrongPassword                       // wrong password, or an unknown name that the server does not reveal
	LoginTooManyTries                        // too many failed attempts: try again in a minute
	LoginAlreadyConnected                    // the account already has a session
	LoginPlayerLimitReached                  // the server is full, or lets nobody in now: try again later

	loginCodes = 6
)

var loginNames = [...]string{"ok", "unknown_pseudo", "wrong_password", "too_many_tries", "already_connected", "player_limit_reached"}

// String returns the document's name for the code.
func (c LoginCode) String() string { return codeName(uint8(c), loginNames[:]) }

// RegisterCode is the answer to a registration.
type RegisterCode uint8

// The answers to a registration.
const (
	RegisterOK              RegisterCode = iota // the account exists and is durable
	RegisterUsedPseudo                          // the name is taken
	RegisterInvalidPseudo                       // the name is invalid
	RegisterInvalidPassword                     // the password is invalid
	RegisterTooManyTries                        // too many attempts: try again in a minute
	RegisterDisabled                            // this server does not register accounts, or not now

	registerCodes = 6
)

var registerNames = [...]string{"ok", "used_pseudo", "invalid_pseudo", "invalid_password", "too_many_tries", "register_disabled"}

// String returns the document's name for the code.
func (c RegisterCode) String() string { return codeName(uint8(c), registerNames[:]) }

// MetaCode is what a player did.
type MetaCode uint8

// The codes of a meta_action.
const (
	MetaPlayerJoined MetaCode = iota // a player joined; the message has its name
	MetaPlayerLeft                   // a player left

	metaCodes = 2
)

var metaNames = [...]string{"player_joined", "player_left"}

// String returns the document's name for the code.
func (c MetaCode) String() string { return codeName(uint8(c), metaNames[:]) }

func codeName(code uint8, names []string) string {
	if int(code) < len(names) {
		return names[code]
	}
	return "code " + strconv.Itoa(int(code))
}

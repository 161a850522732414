package realm

import "strconv"

// ExitCode says why a stream ends: "le stream est fermé après réception ou envoi d'un exit".
type ExitCode uint8

// The exit codes of the document.
const (
	ExitClientQuit     ExitCode = iota // the client leaves
	ExitServerClosed                   // the server goes down
	ExitNetworkError                   // bad input, or a reader that is too slow
	ExitPingTimeout                    // nothing came for too long
	ExitClientKicked                   // the server does not want this client now
	ExitClientBanned                   // nor later
	ExitClientOutdated                 // the client's version is older than the server's
	ExitServerOutdated                 // and newer

	exitCodes = 8
)

var exitNames = [...]string{"client_quit", "server_closed", "network_error", "ping_timeout", "client_kicked", "client_banned",
	"client_outdated", "server_outdated"}

// String returns the document's name of the code.
func (c ExitCode) String() string { return codeName(uint8(c), exitNames[:]) }

// LoginCode answers a login.
type LoginCode uint8

// The answers to a login.
const (
	LoginOK                 LoginCode = iota // in
	LoginUnknownPseudo                       // there is no such account
	LoginWrongPassword                       // or the server does not tell which of both it is
	LoginTooManyTries                        // later
	LoginAlreadyConnected                    // the account is in already
	LoginPlayerLimitReached                  // the server is full

	loginCodes = 6
)

var loginNames = [...]string{"ok", "unknown_pseudo", "wrong_password", "too_many_tries", "already_connected", "player_limit_reached"}

// String returns the document's name of the code.
func (c LoginCode) String() string { return codeName(uint8(c), loginNames[:]) }

// RegisterCode answers a registration.
type RegisterCode uint8

// The answers to a registration.
const (
	RegisterOK              RegisterCode = iota // the account is kept, whatever happens now
	RegisterUsedPseudo                          // the name is taken
	RegisterInvalidPseudo                       // the name breaks the rules
	RegisterInvalidPassword                     // the password breaks the rules
	RegisterTooManyTries                        // later
	RegisterDisabled                            // this server takes no registrations

	registerCodes = 6
)

var registerNames = [...]string{"ok", "used_pseudo", "invalid_pseudo", "invalid_password", "too_many_tries", "register_disabled"}

// String returns the document's name of the code.
func (c RegisterCode) String() string { return codeName(uint8(c), registerNames[:]) }

// MetaCode says what a player did.
type MetaCode uint8

// What a meta_action tells.
const (
	MetaPlayerJoined MetaCode = iota // with the player's name
	MetaPlayerLeft

	metaCodes = 2
)

var metaNames = [...]string{"player_joined", "player_left"}

// String returns the document's name of the code.
func (c MetaCode) String() string { return codeName(uint8(c), metaNames[:]) }

func codeName(code uint8, names []string) string {
	if int(code) < len(names) {
		return names[code]
	}
	return "code " + strconv.Itoa(int(code))
}

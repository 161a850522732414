package account

// A Result is how a request ended.
type Result uint8

// The results. Each method of Service says which of them it can have, besides Busy, Failed
// and Closed, which all can.
const (
	OK            Result = iota + 1
	Unknown              // no account has that name
	WrongPassword        // or an unknown name, with Config.HideUnknown
	TooMany              // too many tries a minute
	AlreadyIn            // the account has a session
	Full                 // there are Config.MaxSessions sessions
	Banned               // the password was right, and the account is banned
	Taken                // another account has that name
	BadName              // see ParseName and Reserved
	BadPassword          // a new password is not of 8 to 128 bytes
	Disabled             // Config.NoRegistration
	Busy                 // too many requests are waiting: try again later
	Failed               // the store failed: Answer.Err says how, and it may have been done or not
	Closed               // the Service was closed before it could be done
	resultCount
)

var resultNames = [resultCount]string{
	"unset", "ok", "unknown name", "wrong password", "too many tries", "already in", "full", "banned", "name taken", "bad name",
	"bad password", "registration disabled", "busy", "failed", "closed",
}

// String returns the result in words.
func (r Result) String() string {
	if r >= resultCount {
		r = 0
	}
	return resultNames[r]
}

// An Answer is what a request came to.
type Answer struct {
	Result  Result
	Account Account  // with OK, and with Banned
	Session *Session // of a Login that is OK
	Err     error    // with Failed
}

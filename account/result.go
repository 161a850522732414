package account

// A Result is how a request ended.
type Result uint8

// The results. Each method of Service lists its own. In addition, all of them may return
// Busy, Failed and Closed.
const (
	OK            Result = iota + 1
	Unknown              // no account has that name
	WrongPassword        // or an unknown name, with Config.HideUnknown
	TooMany              // too many attempts in a minute
	AlreadyIn            // the account has a session
	Full                 // Config.MaxSessions is reached
	Banned               // the account is banned; only with the right password
	Taken                // another account has that name
	BadName              // see ParseName and Reserved
	BadPassword          // the new password does not have 8 to 128 bytes
	Disabled             // Config.NoRegistration
	Busy                 // too many requests are waiting: try again later
	Failed               // the store failed: Answer.Err has the error; the request may have been carried out or not
	Closed               // the Service was closed before it carried out the request
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

// An Answer is the answer to a request.
type Answer struct {
	Result  Result
	Account Account  // with OK, and with Banned
	Session *Session // for a Login that is OK
	Err     error    // with Failed
}

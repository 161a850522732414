package wire

// Side is the end of a connection that wrote bytes. The zero Side is unset. The values are bits, so that the senders
// of a message are a set.
type Side uint8

// The two sides.
const (
	FromClient Side = 1 << iota
	FromServer
)

// String returns the name of the side.
func (s Side) String() string { return NameOf(s, sideNames[:]) }

var sideNames = [...]string{"unset", FromClient: "client", FromServer: "server"}

// Other returns the side that talks with s.
func (s Side) Other() Side { return s ^ (FromClient | FromServer) }

// NameOf returns the name of a value of a closed set, such as the kinds of messages. names[0] is for all that is not in it.
func NameOf[T ~uint8](v T, names []string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return names[0]
}

package message

import (
	"slices"

	"parley/world"
)

// MemberNews is what a Member says.
type MemberNews uint8

// What a Member says. Each but MemberLeft means that the player is in the room, so a client may treat a member that it has not heard of
// before in the same way, whichever of them comes.
const (
	MemberHere   MemberNews = iota + 1 // the player is in the room, as of now: it was before the client asked, or has another entity than before
	MemberJoined                       // the player has just come
	MemberLeft                         // the player has gone
	MemberAway                         // the connection of the player is lost, and its place is held
	MemberBack                         // the player has come back
)

var memberNews = [...]string{"", "here", "joined", "left", "away", "back"}

func (n MemberNews) String() string {
	if int(n) < len(memberNews) {
		return memberNews[n]
	}
	return ""
}

// Member is a player of the client's room, the client's own player included: "what u8, entity u16, name size u8, name". A room has no two
// members of one name at a time, so the name says which member it is.
type Member struct {
	What   MemberNews
	Entity uint16 // the member's own; 0 if it has none, or one that the client may not know of
	Name   string
	Via    Via // only in AppendViaTo and ParseMemberVia
}

// MemberBytes is the size of a member without its name.
const MemberBytes = 4

// AppendTo appends the member. A name of more than 255 bytes is cut.
func (m Member) AppendTo(b []byte, o world.Order) []byte {
	b = order(o).AppendUint16(append(b, byte(m.What)), m.Entity)
	return appendName(b, m.Name)
}

// ParseMember reads what Member.AppendTo writes, and returns the bytes behind it: messages of replica and relay have one member or more, and
// those of duplex one.
func ParseMember(b []byte, o world.Order) (m Member, rest []byte, ok bool) {
	r := read(b, o)
	m = Member{What: MemberNews(r.U8("what")), Entity: r.u16("entity")}
	name := r.name()
	if !r.OK() || m.What < MemberHere || m.What > MemberBack || len(name) == 0 {
		return Member{}, nil, false
	}
	m.Name = string(name)
	return m, r.rest(), true
}

// Via is how a player is connected: its dialect in the lower four bits, and what carries it in the upper four. 0 is unknown, as of a player who has not
// been back since the server was started again.
type Via uint8

var (
	viaDialects = [...]string{"", "replica", "stamp", "relay", "duplex", "realm"}
	viaCarriers = [...]string{"", "ws", "wt"} // the first is the dialect's own: UDP, TCP or TLS
)

// ViaOf returns the Via of a dialect, by its name, over a carrier: "ws", "wt", or any other name for the dialect's own.
func ViaOf(dialect, carrier string) Via {
	d, c := slices.Index(viaDialects[:], dialect), slices.Index(viaCarriers[:], carrier)
	return Via(max(d, 0) | max(c, 0)<<4)
}

// Dialect returns the name of the dialect, "" if it is unknown.
func (v Via) Dialect() string {
	if d := int(v & 15); d < len(viaDialects) {
		return viaDialects[d]
	}
	return ""
}

// Carrier returns "ws" or "wt", or "" for the dialect's own carrier.
func (v Via) Carrier() string {
	if c := int(v >> 4); c < len(viaCarriers) {
		return viaCarriers[c]
	}
	return ""
}

// ViaBytes is the size of a Via.
const ViaBytes = 1

// MembersVia is the data of a client's wish for members, if it wants the Via of each too. Without it the wish has no data.
const MembersVia = 1

// ParseMembersWish reads the data of a client's wish for members in replica and relay.
func ParseMembersWish(b []byte) (via, ok bool) {
	switch {
	case len(b) == 0:
		return false, true
	case len(b) == 1 && b[0] == MembersVia:
		return true, true
	}
	return false, false
}

// AppendViaTo appends the member and its via: "what u8, entity u16, name size u8, name, via u8".
func (m Member) AppendViaTo(b []byte, o world.Order) []byte {
	return append(m.AppendTo(b, o), byte(m.Via))
}

// ParseMemberVia reads what Member.AppendViaTo writes, and returns the bytes behind it.
func ParseMemberVia(b []byte, o world.Order) (m Member, rest []byte, ok bool) {
	if m, rest, ok = ParseMember(b, o); !ok || len(rest) < ViaBytes {
		return Member{}, nil, false
	}
	m.Via = Via(rest[0])
	return m, rest[ViaBytes:], true
}

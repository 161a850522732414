package message

import "parley/world"

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

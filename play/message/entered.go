package message

import "parley/world"

// Session is what a client needs to come back if its connection is lost: "token 16 bytes, hold u16".
type Session struct {
	Token Token
	Hold  uint16 // for how many seconds the seat of a lost connection is held
}

// AppendTo appends the session.
func (s Session) AppendTo(b []byte, o world.Order) []byte {
	return order(o).AppendUint16(append(b, s.Token[:]...), s.Hold)
}

// ParseSession reads what Session.AppendTo writes.
func ParseSession(b []byte, o world.Order) (s Session, ok bool) {
	r := read(b, o)
	copy(s.Token[:], r.Bytes("token", TokenBytes, TokenBytes))
	s.Hold = r.u16("hold")
	return s, r.Done()
}

// World is the world that a client has entered, so that it can run the same game: "seed u64, tick rate u16, tick u32, mode size
// u8, mode, fingerprint u64".
type World struct {
	Seed        uint64
	TickRate    uint16 // ticks a second
	Tick        uint32 // the lower 32 bits of the world's tick
	Mode        []byte // text. It shares memory with what was parsed
	Fingerprint uint64 // of the game's schema
}

// AppendTo appends the world. A mode of more than 255 bytes is cut.
func (w World) AppendTo(b []byte, o world.Order) []byte {
	b = order(o).AppendUint64(b, w.Seed)
	b = order(o).AppendUint16(b, w.TickRate)
	b = order(o).AppendUint32(b, w.Tick)
	b = appendName(b, w.Mode)
	return order(o).AppendUint64(b, w.Fingerprint)
}

// ParseWorld reads what World.AppendTo writes.
func ParseWorld(b []byte, o world.Order) (w World, ok bool) {
	r := read(b, o)
	w.Seed, w.TickRate, w.Tick = r.u64("seed"), r.u16("tick rate"), r.u32("tick")
	w.Mode = r.name()
	w.Fingerprint = r.u64("fingerprint")
	return w, r.Done()
}

package blackbox

// entry is what a client is told that has entered.
type entry struct {
	token       [16]byte
	hold        uint16
	seed        uint64
	rate        uint16
	tick        uint32
	mode        string
	fingerprint uint64
}

// readSession reads "token, hold".
func (e *entry) readSession(r *reader) {
	copy(e.token[:], r.take(16))
	e.hold = r.u16()
}

// readWorld reads "seed u64, tick rate u16, tick u32, mode (u8 size, text), schema fingerprint u64".
func (e *entry) readWorld(r *reader) {
	e.seed, e.rate, e.tick = r.u64(), r.u16(), r.u32()
	e.mode = string(r.take(int(r.u8())))
	e.fingerprint = r.u64()
}

// whole reports whether it was told both, with what a server has by default.
func (e *entry) whole() bool {
	return e.token != [16]byte{} && e.hold == 30 && e.seed != 0 && e.rate == 20 && e.mode == "" && e.fingerprint != 0
}

package core

import "parley/internal/wire"

// The bits of the flags.
const (
	flagControl  = 0x80
	modeShift    = 5
	modeMask     = 0x03
	flagToServer = 0x10
)

// Where the fields start that may be refused for what they mean.
const (
	atFlags = 0
	atID    = 1
)

// Parse reads the datagram that fills all of b, and reports whether it is valid. If not,
// Kind is unset and the other fields are meaningless. Payload and IDs share the memory of
// b: copy what must outlive it.
func (d *Datagram) Parse(b []byte) bool {
	r := wire.Big(b)
	return d.read(&r)
}

// ParseErr is Parse with an error: nil, or a *wire.Error that names the wrong field and its
// offset. It is for tools and logs, as the error is allocated.
func (d *Datagram) ParseErr(b []byte) error {
	r := wire.Big(b)
	d.read(&r)
	return r.Err()
}

func (d *Datagram) read(r *wire.BigReader) bool {
	*d = Datagram{}
	flags, id := r.U8("flags"), r.U24("id")
	if flags&flagControl != 0 {
		d.readConfirmation(flags, id, r)
	} else {
		d.readPackage(flags, id, r)
	}
	if !r.Done() {
		d.Kind = 0
		return false
	}
	return true
}

func (d *Datagram) readPackage(flags uint8, id uint32, r *wire.BigReader) {
	d.Kind, d.ID = KindPackage, id
	d.Mode, d.ToServer = Mode(flags>>modeShift&modeMask), flags&flagToServer != 0
	if d.Mode > SemiOrdered {
		r.Fail(atFlags, "flags", "there is no mode 11")
	}
	d.Payload = r.Rest("payload", MaxPayload)
}

// readConfirmation obeys "All bits in the header of these datagrams, except for the first
// one, are set to 0." (Protocol Control)
func (d *Datagram) readConfirmation(flags uint8, id uint32, r *wire.BigReader) {
	d.Kind = KindConfirmation
	if flags != flagControl {
		r.Fail(atFlags, "flags", "a bit beside the highest is set in a control datagram")
	}
	if id != 0 {
		r.Fail(atID, "id", "that of a control datagram is 0")
	}
	switch n := r.Len(); {
	case n == 0:
		r.Fail(HeaderBytes, "ids", "a confirmation of nothing")
	case n%idBytes != 0:
		r.Fail(HeaderBytes+n-n%idBytes, "ids", "the last one is cut short")
	}
	d.IDs = r.Rest("ids", MaxConfirmed*idBytes)
}

// AppendTo appends the datagram. It does not check it: with a wrong mode, or a payload or ids
// over their limit, it writes bytes that Parse refuses. Of a number that is too large, it
// writes the low bits. It panics if d.Kind is unset.
func (d *Datagram) AppendTo(b []byte) []byte {
	switch d.Kind {
	case KindPackage:
		return append(appendHeader(b, packageFlags(d.Mode, d.ToServer), d.ID), d.Payload...)
	case KindConfirmation:
		return append(appendHeader(b, flagControl, 0), d.IDs...)
	}
	panic("relay: AppendTo of a datagram without a kind")
}

func packageFlags(m Mode, toServer bool) uint8 {
	flags := uint8(m) & modeMask << modeShift
	if toServer {
		flags |= flagToServer
	}
	return flags
}

func appendHeader(b []byte, flags uint8, id uint32) []byte {
	return wire.AppendBigU24(append(b, flags), id)
}

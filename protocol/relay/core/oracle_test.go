package core

import (
	"bytes"
	"math/rand/v2"

	"parley/internal/kit"
)

// oracle reads a datagram as the document says it, by hand and without the cursor: what the
// codec is held against.
func oracle(b []byte, d *Datagram) bool {
	*d = Datagram{}
	if len(b) < 4 || len(b) > 508 {
		return false
	}
	if b[0]&0x80 != 0 {
		d.Kind, d.IDs = KindConfirmation, b[4:]
		return b[0] == 0x80 && b[1]|b[2]|b[3] == 0 && len(b) >= 7 && (len(b)-4)%3 == 0
	}
	d.Kind, d.ToServer = KindPackage, b[0]&0x10 != 0
	d.ID = uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	d.Payload = b[4:]
	switch b[0] & 0x60 {
	case 0x00:
		d.Mode = Unreliable
	case 0x20:
		d.Mode = Unordered
	case 0x40:
		d.Mode = SemiOrdered
	default:
		return false
	}
	return true
}

// canonical clears the bits that a receiver ignores.
func canonical(b []byte) {
	if b[0]&0x80 == 0 {
		b[0] &= 0xf0
	}
}

func same(a, b *Datagram) bool {
	return a.Kind == b.Kind && a.Mode == b.Mode && a.ToServer == b.ToServer && a.ID == b.ID &&
		bytes.Equal(a.Payload, b.Payload) && bytes.Equal(a.IDs, b.IDs)
}

// noise is bytes to cut random payloads from.
var noise = kit.Noise[:]

// randomBytes returns up to limit bytes, most often few.
func randomBytes(r *rand.Rand, limit int) []byte {
	n := r.IntN(limit + 1)
	if r.IntN(4) > 0 {
		n = min(n, r.IntN(40))
	}
	at := r.IntN(len(noise) - n)
	return noise[at : at+n]
}

// randomDatagram makes a valid one of a kind.
func randomDatagram(r *rand.Rand, kind Kind, d *Datagram) {
	*d = Datagram{Kind: kind}
	if kind == KindPackage {
		d.Mode, d.ToServer, d.ID = Mode(r.IntN(3)), r.IntN(2) == 0, r.Uint32()&MaxID
		d.Payload = randomBytes(r, MaxPayload)
		return
	}
	n := 1 + r.IntN(MaxConfirmed)
	if r.IntN(4) > 0 {
		n = 1 + r.IntN(8)
	}
	at := r.IntN(len(noise) - 3*n)
	d.IDs = noise[at : at+3*n]
}

var bothKinds = []Kind{KindPackage, KindConfirmation}

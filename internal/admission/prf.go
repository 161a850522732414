package admission

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"net/netip"
)

// Key is a secret of the process, from a cryptographic source. An attacker who does not know
// it can neither predict a clock or a token nor choose addresses that collide in a table. All
// types of this package may share one key.
type Key [32]byte

// use keeps the outputs of one key apart.
type use uint8

const (
	useTable use = iota + 1
	useSeen
	useSource
	usePrefix
	useClock
	useToken
)

// prf is a keyed function of addresses whose output cannot be distinguished from noise:
// AES-256 in CBC-MAC. That is sound because no input is a prefix of another: the first block
// holds the length of the rest. It is faster than HMAC, and is computed for every packet of a
// stranger.
//
//	block 0   use u8, 0, zone size u16, port u16, 0 u16, number u64
//	block 1   address, 16 bytes
//	then      zone, if there is one, padded with zeros
type prf struct {
	block cipher.Block
	buf   [aes.BlockSize]byte // a field, as Encrypt would move a local variable to the heap
}

func newPRF(key Key) *prf {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("admission: AES refuses a key of 32 bytes") // it has no other reason to fail
	}
	return &prf{block: block}
}

// peer is prf of a canonical address and port.
func (p *prf) peer(u use, key netip.AddrPort, number uint64) (lo, hi uint64) {
	return p.sum(u, key.Addr().As16(), key.Addr().Zone(), key.Port(), number)
}

// sum returns the 128 bits of the function.
func (p *prf) sum(u use, addr [16]byte, zone string, port uint16, number uint64) (lo, hi uint64) {
	b := p.buf[:]
	b[0], b[1] = byte(u), 0
	binary.LittleEndian.PutUint16(b[2:], uint16(len(zone)))
	binary.LittleEndian.PutUint16(b[4:], port)
	binary.LittleEndian.PutUint16(b[6:], 0)
	binary.LittleEndian.PutUint64(b[8:], number)
	p.block.Encrypt(b, b)
	for i, v := range addr {
		b[i] ^= v
	}
	p.block.Encrypt(b, b)
	for len(zone) > 0 {
		n := min(len(zone), len(b))
		for i := range n {
			b[i] ^= zone[i]
		}
		p.block.Encrypt(b, b)
		zone = zone[n:]
	}
	return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
}

package ws

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// The opcodes of RFC 6455.
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xa

	finBit  = 0x80
	maskBit = 0x80

	maxControl = 125 // bytes of a control frame's payload
)

// The codes of close frames.
const (
	codeNormal   = 1000
	codeGoing    = 1001
	codeProtocol = 1002
	codeType     = 1003
	codePolicy   = 1008
	codeTooBig   = 1009
)

// Errors of a frame that ends the connection.
var (
	errProtocol = errors.New("ws: a frame that is malformed")
	errText     = errors.New("ws: a text message: only binary messages are taken")
	errTooBig   = errors.New("ws: a message over 64 KiB")
)

// kind says what a piece is.
type kind uint8

const (
	pieceNone  kind = iota // more bytes are needed
	pieceData              // of a message
	pieceFrame             // a frame without data, other than the last of a message
	piecePing
	piecePong
	pieceClose
)

// piece is what next has found.
type piece struct {
	kind kind
	b    []byte // of data a part of the message; of the others all
	last bool   // the message ends here
}

// frames reads the frames of a client. It keeps no data of messages: each piece is handed on as it comes. It is pure.
type frames struct {
	head    [14]byte
	have    int // bytes of head
	payload bool
	left    uint64 // bytes of the payload that are still to come
	key     [4]byte
	at      int // in key
	op      byte
	fin     bool

	message bool // one has begun
	size    int  // of it so far

	control  [maxControl]byte
	controls int
}

// next takes bytes from the front of in, which it overwrites, and returns what they are and how many it took. It is called until it took all.
func (f *frames) next(in []byte) (p piece, n int, err error) {
	if !f.payload {
		if n, err = f.readHead(in); err != nil || !f.payload {
			return piece{}, n, err
		}
		if f.left == 0 {
			return f.ended(nil), n, nil
		}
		in = in[n:]
	}
	k := int(min(uint64(len(in)), f.left))
	if k == 0 {
		return piece{}, n, nil
	}
	b := in[:k]
	f.unmask(b)
	n += k
	if f.left -= uint64(k); f.op >= opClose {
		f.controls += copy(f.control[f.controls:], b)
		if f.left > 0 {
			return piece{}, n, nil
		}
		b = f.control[:f.controls]
	}
	if f.left > 0 {
		return piece{kind: pieceData, b: b}, n, nil
	}
	return f.ended(b), n, nil
}

// readHead takes the bytes of a frame's head. f.payload says whether that was all of it.
func (f *frames) readHead(in []byte) (n int, err error) {
	if f.have < 2 {
		n = copy(f.head[f.have:2], in)
		if f.have += n; f.have < 2 {
			return n, nil
		}
	}
	need, err := f.lengthOfHead()
	if err != nil {
		return n, err
	}
	k := copy(f.head[f.have:need], in[n:])
	f.have += k
	if n += k; f.have < need {
		return n, nil
	}
	return n, f.begin(need)
}

// lengthOfHead checks the first two bytes, and says how long the head is.
func (f *frames) lengthOfHead() (int, error) {
	op, size := f.head[0]&0x0f, f.head[1]&^maskBit
	f.op, f.fin = op, f.head[0]&finBit != 0
	switch {
	case f.head[0]&0x70 != 0, f.head[1]&maskBit == 0: // "a server MUST close the connection upon receiving a frame that is not masked"
		return 0, errProtocol
	case op >= opClose && (op > opPong || !f.fin || size > maxControl), op > opBinary && op < opClose:
		return 0, errProtocol
	case op == opText:
		return 0, errText
	case op == opBinary && f.message, op == opContinuation && !f.message:
		return 0, errProtocol
	}
	switch size {
	case 126:
		return 8, nil
	case 127:
		return 14, nil
	}
	return 6, nil
}

// begin begins the payload of a frame, whose head has n bytes.
func (f *frames) begin(n int) error {
	f.left = uint64(f.head[1] &^ maskBit)
	switch n { // "the minimal number of bytes MUST be used"
	case 8:
		if f.left = uint64(binary.BigEndian.Uint16(f.head[2:])); f.left < 126 {
			return errProtocol
		}
	case 14:
		if f.left = binary.BigEndian.Uint64(f.head[2:]); f.left>>63 != 0 || f.left < 1<<16 {
			return errProtocol
		}
	}
	copy(f.key[:], f.head[n-4:n])
	f.at, f.have, f.payload, f.controls = 0, 0, true, 0
	if f.op >= opClose {
		return nil
	}
	if !f.message {
		f.message, f.size = true, 0
	}
	if f.left > uint64(maxMessage-f.size) {
		return errTooBig
	}
	f.size += int(f.left)
	return nil
}

// ended returns the piece with which a frame ends.
func (f *frames) ended(b []byte) piece {
	f.payload = false
	switch f.op {
	case opClose:
		return piece{kind: pieceClose, b: b}
	case opPing:
		return piece{kind: piecePing, b: b}
	case opPong:
		return piece{kind: piecePong}
	}
	if f.fin {
		f.message = false
		return piece{kind: pieceData, b: b, last: true}
	}
	if len(b) == 0 {
		return piece{kind: pieceFrame}
	}
	return piece{kind: pieceData, b: b}
}

// unmask undoes the mask of a part of the payload.
func (f *frames) unmask(b []byte) {
	at := f.at
	f.at = (at + len(b)) & 3
	for ; at&3 != 0 && len(b) > 0; at++ {
		b[0] ^= f.key[at&3]
		b = b[1:]
	}
	word := uint64(binary.LittleEndian.Uint32(f.key[:]))
	word |= word << 32
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^word)
	}
	for i := range b {
		b[i] ^= f.key[i&3]
	}
}

// appendHead appends the head of a binary message of n bytes, in one frame. A server does not mask.
func appendHead(b []byte, n int) []byte { return appendFrameHead(b, opBinary, n) }

func appendFrameHead(b []byte, op byte, n int) []byte {
	switch b = append(b, finBit|op); {
	case n < 126:
		return append(b, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
}

// appendClose appends a close frame.
func appendClose(b []byte, code uint16, text string) []byte {
	for len(text) > maxControl-2 || !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	b = appendFrameHead(b, opClose, 2+len(text))
	return append(binary.BigEndian.AppendUint16(b, code), text...)
}

// pong is the answer to the newest ping, until it is taken: who pings and reads nothing costs no more than that.
type pong struct {
	b   []byte
	due bool
}

func (p *pong) note(ping []byte) { p.b, p.due = append(p.b[:0], ping...), true }

// appendTo appends the answer, if one is due, which then is no more.
func (p *pong) appendTo(b []byte) []byte {
	if p.due {
		b, p.due = append(appendFrameHead(b, opPong, len(p.b)), p.b...), false
	}
	return b
}

// codeOf returns the code that a client is told of an error of its own.
func codeOf(err error) uint16 {
	switch err {
	case errText:
		return codeType
	case errTooBig:
		return codeTooBig
	}
	return codeProtocol
}

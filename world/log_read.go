package world

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// A LogReader reads the entries of a file.
//
// What is not sound at the end of a file, with nothing sound after it, is a torn tail: its writer was stopped. The file then ends before
// it, and Torn says where. Anything else that is not sound is damage, and an error.
type LogReader struct {
	head Head
	in   blocks
}

// NewLogReader reads the head of a file. It returns ErrNotRecording, ErrVersion or ErrDamaged if there is none.
func NewLogReader(r io.Reader) (*LogReader, error) {
	l := &LogReader{in: blocks{r: r}}
	if err := l.in.open(&l.head); err != nil {
		return nil, err
	}
	if l.in.version != logVersion {
		return nil, fmt.Errorf("%w: %d, and this is %d", ErrVersion, l.in.version, logVersion)
	}
	return l, nil
}

// Head returns the head of the file.
func (l *LogReader) Head() Head { return l.head }

// Next returns the block of the next entry, for Sim.ReadEntry. It is valid until the next call. At the end it returns io.EOF. The states
// of a recording are left out, and so is a snapshot before the entries, which Load reads.
func (l *LogReader) Next() ([]byte, error) {
	for {
		kind, err := l.in.next()
		if err != nil || kind == blockEntry {
			return l.in.block, err
		}
	}
}

// Torn reports whether the file has a torn tail, after Next has returned io.EOF, and at which byte it begins: what is before it
// is whole.
func (l *LogReader) Torn() (at int64, torn bool) { return l.in.offset, l.in.torn }

// blocks reads blocks and checks their sums.
type blocks struct {
	r       io.Reader
	version uint16
	states  bool // entries have states
	buf     bytes.Buffer
	block   []byte  // the last one, with its header
	in      reading // its content
	offset  int64   // where it begins
	read    int64   // where the next one does
	nodes   []uint64
	torn    bool
}

// open reads the beginning of a file.
func (b *blocks) open(h *Head) error {
	head := make([]byte, fileHeader)
	n, err := io.ReadFull(b.r, head)
	b.read = int64(n)
	if err != nil || string(head[:len(logMagic)]) != logMagic {
		return ErrNotRecording
	}
	b.version = binary.LittleEndian.Uint16(head[len(logMagic):])
	if b.version != logVersion && b.version != oldVersion {
		return fmt.Errorf("%w: %d, and this is %d", ErrVersion, b.version, logVersion)
	}
	kind, err := b.next()
	if err != nil || kind != blockHead {
		return damaged("no head")
	}
	read := h.read
	if b.version == oldVersion {
		read = h.readOld
	}
	err = read(&b.in)
	b.states = h.states
	return err
}

// next reads the next block. At the end, and at a torn tail, it returns io.EOF.
func (b *blocks) next() (kind byte, err error) {
	if err := b.header(); err != nil {
		return 0, err
	}
	if b.buf.String() == logMagic { // a file that follows a file: a snapshot, and the entries since then
		if err := b.fill(2); err != nil {
			return 0, b.unsound(err, "a file's head is cut off")
		}
		if v := binary.LittleEndian.Uint16(b.buf.Bytes()[len(logMagic):]); v != b.version {
			return 0, b.unsound(nil, fmt.Sprintf("a file of version %d follows one of version %d", v, b.version))
		}
		b.read = b.offset + int64(fileHeader)
		if err := b.header(); err != nil {
			return 0, err
		}
	}
	size := int64(binary.LittleEndian.Uint32(b.buf.Bytes()))
	if size < 1 || size > maxBlock {
		return 0, b.unsound(nil, fmt.Sprintf("a block of %d bytes", size))
	}
	// The buffer grows with what comes, not with what the size claims.
	if err := b.fill(size); err != nil {
		return 0, b.unsound(err, "a block is cut off")
	}
	b.block = b.buf.Bytes()
	if !isSound(b.block) {
		return 0, b.unsound(nil, "the sum of a block is wrong")
	}
	b.read = b.offset + int64(len(b.block))
	b.in = reading{b: b.block[blockHeader+1:]}
	if kind = b.block[blockHeader]; kind == blockEntry {
		b.hear(b.block)
	}
	return kind, nil
}

// header reads the size and the sum of a block.
func (b *blocks) header() error {
	b.offset = b.read
	b.buf.Reset()
	if err := b.fill(blockHeader); err != nil {
		return b.unsound(err, "a block is cut off")
	}
	return nil
}

// fill reads so many bytes more into the buffer. It returns io.EOF if there are fewer.
func (b *blocks) fill(n int64) error {
	_, err := io.CopyN(&b.buf, b.r, n)
	return err
}

func isSound(block []byte) bool {
	return crc32.Checksum(block[blockHeader:], castagnoli) == binary.LittleEndian.Uint32(block[4:])
}

// unsound says what it is that is not sound: the end of the file, a torn tail, or damage.
func (b *blocks) unsound(err error, what string) error {
	if err != nil && err != io.EOF {
		return fmt.Errorf("world: reading: %w", err)
	}
	if err == io.EOF && b.buf.Len() == 0 {
		return io.EOF
	}
	if err == nil { // the rest is not read yet
		if err = b.fill(max(1, maxTail-int64(b.buf.Len()))); err != nil && err != io.EOF {
			return fmt.Errorf("world: reading: %w", err)
		}
	}
	if err == nil || b.findSound(b.buf.Bytes()) {
		return fmt.Errorf("%w at byte %d", damaged("%s", what), b.offset)
	}
	b.torn = true
	return io.EOF
}

// findSound looks for a sound block behind the beginning of a tail. A player can put the bytes of a block into a line of chat. So a
// block counts only if sound ones follow it up to the end of the file, or if it is an entry of a node that is in the file, as no client
// knows the number of one.
func (b *blocks) findSound(tail []byte) bool {
	work := 0
	for at := 1; at+blockHeader < len(tail); at++ {
		if work > maxTailWork {
			return true // made to take long: no machine leaves such a tail
		}
		end := b.soundEnd(tail, at, &work)
		if end < 0 {
			continue
		}
		if b.version == oldVersion || tail[at+blockHeader] == blockEntry && b.knows(tail[at:end]) {
			return true
		}
		for end > 0 && end < len(tail) {
			end = b.soundEnd(tail, end, &work)
		}
		if end == len(tail) {
			return true
		}
	}
	return false
}

// soundEnd returns where the sound entry or state ends that begins at a byte, or -1 if there is none.
func (b *blocks) soundEnd(tail []byte, at int, work *int) int {
	if len(tail)-at <= blockHeader {
		return -1
	}
	size := int64(binary.LittleEndian.Uint32(tail[at:]))
	end := int64(at) + blockHeader + size
	if size < 1 || end > int64(len(tail)) {
		return -1
	}
	switch tail[at+blockHeader] {
	case blockEntry:
		if size > maxEntry {
			return -1
		}
	case blockState, blockInputs:
		if !b.states {
			return -1
		}
	default:
		return -1
	}
	if *work += int(size); !isSound(tail[at:end]) {
		return -1
	}
	return int(end)
}

// hear notes which servers have made entries of the file.
func (b *blocks) hear(block []byte) {
	h, err := ReadEntryHead(block)
	if err != nil || b.has(h.Node) {
		return
	}
	if len(b.nodes) == maxNodes {
		b.nodes = slices.Delete(b.nodes, 0, 1) // the newest make what may be torn
	}
	b.nodes = append(b.nodes, h.Node)
}

func (b *blocks) has(node uint64) bool {
	return slices.Contains(b.nodes, node)
}

// knows reports whether an entry is of one of these, or of the first of the file.
func (b *blocks) knows(block []byte) bool {
	h, err := ReadEntryHead(block)
	return err == nil && h.Node != 0 && (len(b.nodes) == 0 || b.has(h.Node)) // 0 is that of a recording alone, as everybody knows
}

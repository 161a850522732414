package wire_test

import (
	"encoding/binary"
	"fmt"

	"parley/internal/wire"
)

// Chat is a message: the sender's id, a count of tags, the tags, a text.
type Chat struct {
	From uint16
	Tags []uint32 // 24 bits each
	Text []byte
}

const (
	maxTags      = 8
	tagBytes     = 3
	maxTextBytes = 512
)

// AppendTo appends the bytes of m.
func (m *Chat) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, m.From)
	b = append(b, byte(len(m.Tags)))
	for _, tag := range m.Tags {
		b = wire.AppendBigU24(b, tag)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(m.Text)))
	return append(b, m.Text...)
}

// Parse reads m from the whole of b. It is what the server calls.
func (m *Chat) Parse(b []byte) bool {
	r := wire.Big(b)
	m.read(&r)
	return r.Done()
}

// Explain says why Parse refuses b.
func (m *Chat) Explain(b []byte) error {
	r := wire.Big(b)
	m.read(&r)
	r.Done()
	return r.Err()
}

func (m *Chat) read(r *wire.BigReader) {
	if m.From = r.U16("from"); m.From == 0 {
		r.Fail(0, "from", "id 0 is nobody")
	}
	m.Tags = m.Tags[:0]
	for i := range r.Count("tags", int(r.U8("tag count")), maxTags, tagBytes) {
		at := r.Offset()
		tag := r.U24("tag")
		if tag == 0 {
			r.Fail(at, "tag", "tag 0 is none")
		}
		if !r.In("tags", i) {
			return
		}
		m.Tags = append(m.Tags, tag)
	}
	m.Text = r.Text("text", int(r.U16("text size")), maxTextBytes)
}

func Example() {
	b := (&Chat{From: 7, Tags: []uint32{1, 0xabcdef}, Text: []byte("hello")}).AppendTo(nil)
	var m Chat
	fmt.Println(m.Parse(b), m.From, m.Tags, string(m.Text))

	fmt.Println(m.Parse(b[:12]), m.Explain(b[:12]))
	b[3+2] = 0 // the low byte of the first tag
	fmt.Println(m.Parse(b), m.Explain(b))
	b[2] = 200
	fmt.Println(m.Parse(b), m.Explain(b))
	// Output:
	// true 7 [1 11259375] hello
	// false text: 5 bytes wanted at offset 11, 1 left
	// false tags[0].tag: tag 0 is none at offset 3
	// false tags: size 200 at offset 3, limit 8
}

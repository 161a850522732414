package program

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// parseHex reads one packet in hex as people paste it: two digits a byte in
// either case, blanks between bytes, and perhaps 0x before the first. No
// digits at all are a packet of no bytes. An error names the column of the
// text, counted from 1, as the text may hold more than digits.
func parseHex(text []byte) ([]byte, error) {
	at := 0
	for at < len(text) && isBlank(text[at]) {
		at++
	}
	if rest := text[at:]; bytes.HasPrefix(rest, []byte("0x")) || bytes.HasPrefix(rest, []byte("0X")) {
		at += len("0x")
	}
	b := make([]byte, 0, (len(text)-at+1)/2)
	for at < len(text) {
		if isBlank(text[at]) {
			at++
			continue
		}
		high, err := hexDigit(text, at)
		if err != nil {
			return nil, err
		}
		if at+1 == len(text) || isBlank(text[at+1]) {
			return nil, fmt.Errorf("hex: byte %d has one digit of two at column %d", len(b), at+1)
		}
		low, err := hexDigit(text, at+1)
		if err != nil {
			return nil, err
		}
		b = append(b, high<<4|low)
		at += 2
	}
	return b, nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func hexDigit(text []byte, at int) (byte, error) {
	switch c := text[at]; {
	case '0' <= c && c <= '9':
		return c - '0', nil
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, nil
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, nil
	}
	r, _ := utf8.DecodeRune(text[at:])
	return 0, fmt.Errorf("hex: %q is not a hex digit at column %d", r, at+1)
}

package message

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"
)

// A server that is being emptied tells a player where to go on: addresses of other servers, as text, each host:port, with commas between, the
// best first. They are for the dialect of the connection, and for what carries it.

const (
	// MaxMoved bounds the addresses that are told, and that a client dials: a server could have all of its players knock at a thousand doors.
	MaxMoved = 4

	// maxMovedText bounds the text: relay has 504 bytes for a payload.
	maxMovedText = 480
)

// AppendMoved appends addresses, as many as may be told. One that is none is left out.
func AppendMoved(b []byte, addrs []string) []byte {
	first, told := len(b), 0
	for _, a := range addrs {
		if told == MaxMoved || !isAddress(a) || len(b)-first+1+len(a) > maxMovedText {
			continue
		}
		if told++; told > 1 {
			b = append(b, ',')
		}
		b = append(b, a...)
	}
	return b
}

// ParseMoved reads what AppendMoved writes, without what is no address.
func ParseMoved(b []byte) (addrs []string) {
	if len(b) > maxMovedText {
		return nil
	}
	for part := range bytes.SplitSeq(b, []byte{','}) {
		if a := string(part); len(addrs) < MaxMoved && isAddress(a) {
			addrs = append(addrs, a)
		}
	}
	return addrs
}

// isAddress reports whether a text is host:port, in letters that hosts have. So it cannot name anything else to whoever dials it.
func isAddress(a string) bool {
	at := strings.LastIndexByte(a, ':')
	if at <= 0 {
		return false
	}
	host, port := a[:at], a[at+1:]
	if inner, ok := strings.CutPrefix(host, "["); ok { // of IPv6
		ip, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !ip.Is6() || ip.Zone() != "" || host[len(host)-1] != ']' {
			return false
		}
	} else if strings.ContainsFunc(host, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_')
	}) {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

package proxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// Limits of headers, and what each stops.
const (
	// maxLine bounds a header of version 1: no address is longer. Without it, a line that never ends would be kept.
	maxLine = 107

	// maxBody bounds what follows the fixed part of version 2. Two addresses have 36 bytes. Proxies may add a name of the client's
	// certificate and the like, some hundred bytes that nobody here reads. The length field would allow 64 KiB.
	maxBody = 2 << 10
)

// signature begins a header of version 2. A line begins one of version 1.
const (
	signature = "\r\n\r\n\x00\r\nQUIT\n"
	word      = "PROXY "
)

// firstBytes is how much is read at first: the shortest header of either version has as many, "PROXY UNKNOWN\r\n".
const firstBytes = 15

// ErrHeader means that a connection does not begin with a header of the PROXY protocol.
var ErrHeader = errors.New("proxy: no header of the PROXY protocol")

// ReadHeader reads the header at the beginning of a connection, and nothing behind it. It returns the address of the client. The
// zero AddrPort means that the connection is the proxy's own, such as a health check, or that the client has no address of TCP.
// Set a deadline for r: it waits for the bytes.
//
//	version 1            version 2
//	"PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n"
//	                     0   signature, 12 bytes
//	                     12  version 2 in the upper half; 0 the proxy's own, 1 a client's in the lower
//	                     13  family in the upper half: 0 none, 1 IPv4, 2 IPv6, 3 Unix; 1 TCP in the lower
//	                     14  bytes that follow, u16
//	                     16  addresses of the source and the destination, their ports u16, and what else the proxy says
func ReadHeader(r io.Reader) (netip.AddrPort, error) {
	var first [firstBytes]byte
	if _, err := io.ReadFull(r, first[:]); err != nil {
		return netip.AddrPort{}, err
	}
	switch {
	case strings.HasPrefix(string(first[:]), word):
		return readLine(r, first[:])
	case strings.HasPrefix(string(first[:]), signature):
		return readBinary(r, first[len(signature):])
	}
	return netip.AddrPort{}, ErrHeader
}

// readLine reads the rest of a line, byte by byte, as nothing tells where it ends.
func readLine(r io.Reader, line []byte) (netip.AddrPort, error) {
	for !strings.HasSuffix(string(line), "\r\n") {
		if len(line) == maxLine {
			return netip.AddrPort{}, ErrHeader
		}
		var next [1]byte
		if _, err := io.ReadFull(r, next[:]); err != nil {
			return netip.AddrPort{}, err
		}
		line = append(line, next[0])
	}
	return parseLine(string(line[len(word) : len(line)-2]))
}

// parseLine reads what is between the word PROXY and the end of the line.
func parseLine(text string) (netip.AddrPort, error) {
	parts := strings.Split(text, " ")
	if parts[0] == "UNKNOWN" { // "the receiver must ignore anything presented before the CRLF"
		return netip.AddrPort{}, nil
	}
	if len(parts) != 5 || parts[0] != "TCP4" && parts[0] != "TCP6" {
		return netip.AddrPort{}, ErrHeader
	}
	source, err := netip.ParseAddr(parts[1])
	destination, wrong := netip.ParseAddr(parts[2])
	port, ok := parsePort(parts[3])
	_, other := parsePort(parts[4])
	if four := parts[0] == "TCP4"; err != nil || wrong != nil || !ok || !other || source.Is4() != four || destination.Is4() != four || source.Zone() != "" {
		return netip.AddrPort{}, ErrHeader
	}
	return client(source, port)
}

func parsePort(text string) (uint16, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err == nil && strconv.FormatUint(n, 10) == text
}

// readBinary reads what follows the signature. got are the first bytes of that.
func readBinary(r io.Reader, got []byte) (netip.AddrPort, error) {
	fixed := make([]byte, 4)
	if _, err := io.ReadFull(r, fixed[copy(fixed, got):]); err != nil {
		return netip.AddrPort{}, err
	}
	size := int(binary.BigEndian.Uint16(fixed[2:]))
	if fixed[0] != 0x20 && fixed[0] != 0x21 || size > maxBody {
		return netip.AddrPort{}, ErrHeader
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return netip.AddrPort{}, err
	}
	return parseBody(fixed[0] == 0x20, fixed[1], body)
}

// parseBody reads the addresses of a header of version 2.
func parseBody(own bool, family byte, body []byte) (netip.AddrPort, error) {
	size := map[byte]int{0x11: 4, 0x21: 16}[family]
	switch {
	case own, family == 0x00, family == 0x31: // of a proxy's own the family does not matter
		return netip.AddrPort{}, nil
	case size == 0, len(body) < 2*size+4:
		return netip.AddrPort{}, ErrHeader
	}
	source, _ := netip.AddrFromSlice(body[:size])
	return client(source, binary.BigEndian.Uint16(body[2*size:]))
}

// client returns the address of a client, if a client can have it.
func client(addr netip.Addr, port uint16) (netip.AddrPort, error) {
	if addr = addr.Unmap(); addr.IsUnspecified() || addr.IsMulticast() {
		return netip.AddrPort{}, ErrHeader
	}
	return netip.AddrPortFrom(addr, port), nil
}

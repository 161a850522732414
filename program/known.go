package program

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// knownServers is a file of the servers of realm that the user has joined. Each line has an address and the SHA-256 of the
// certificate that was seen there first. A server signs its own certificate, so this is what tells it from an impostor, who would
// read the password.
type knownServers struct {
	file string
	told func(text string) // of a server that is new
}

// defaultKnownText is where it is, in help: the same on every machine.
const defaultKnownText = "parley/known_servers in your folder of settings"

// defaultKnown is the user's own file, "" if the system does not say where that would be.
func defaultKnown() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "parley", "known_servers")
}

// trust looks at a server's certificate, before anything is sent to it. A server that is new is added to the file.
func (k *knownServers) trust(addr, print string) error {
	if k.file == "" {
		return errors.New("there is no folder of settings to keep the server's certificate in: name a file with --known-servers, or pin the certificate with --fingerprint")
	}
	known, err := k.find(knownAddress(addr))
	switch {
	case err != nil:
		return err
	case known == "":
		return k.add(knownAddress(addr), print)
	case known != strings.ToLower(print):
		return fmt.Errorf("its certificate has changed, so nothing was sent to it: the SHA-256 was %s and is now %s. If the operator of the server says that this is right, remove the line of %s from %s and join again",
			known, print, knownAddress(addr), k.file)
	}
	return nil
}

// find returns the SHA-256 that an address had first, "" if it is new.
func (k *knownServers) find(addr string) (string, error) {
	file, err := os.Open(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the known servers: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxKnownBytes+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the known servers: %w", err)
	}
	if len(text) > maxKnownBytes {
		return "", fmt.Errorf("%s has more than %d bytes; remove lines of servers that you do not join any more", k.file, maxKnownBytes)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxKnownBytes+1)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 2 || !isFingerprint(words[1]) {
			return "", fmt.Errorf("%s, line %d: it is not an address and a SHA-256 in hex; mend or remove the line", k.file, n)
		}
		if knownAddress(words[0]) == addr {
			return strings.ToLower(strings.ReplaceAll(words[1], ":", "")), nil
		}
	}
	return "", lines.Err()
}

// add appends a line, in one write: two that join at the same time do not tear each other's.
func (k *knownServers) add(addr, print string) error {
	if err := os.MkdirAll(filepath.Dir(k.file), 0o700); err != nil {
		return fmt.Errorf("cannot keep the server's certificate: %w; name a file with --known-servers", err)
	}
	file, err := os.OpenFile(k.file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("cannot keep the server's certificate: %w; name a file with --known-servers", err)
	}
	line := addr + " " + strings.ToLower(print) + "\n"
	if info, err := file.Stat(); err == nil && info.Size() > 0 { // an editor may have left the last line open
		last := []byte{0}
		if _, err := file.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			line = "\n" + line
		}
	}
	_, err = file.WriteString(line)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("cannot keep the server's certificate: %w; name a file with --known-servers", err)
	}
	if k.told != nil {
		k.told(fmt.Sprintf("%s is new: its certificate, SHA-256 %s, is now kept in %s", addr, print, k.file))
	}
	return nil
}

// knownAddress writes an address in one way.
func knownAddress(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	return net.JoinHostPort(host, port)
}

// isFingerprint reports whether a text is a SHA-256 in hex, with or without colons.
func isFingerprint(text string) bool {
	b, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	return err == nil && len(b) == 32
}

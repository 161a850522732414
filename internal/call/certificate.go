//go:build !js

package call

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// isPinned reports whether a certificate has one of these SHA-256.
func isPinned(der []byte, pinned [][]byte) bool {
	sum := sha256.Sum256(der)
	return slices.ContainsFunc(pinned, func(p []byte) bool { return bytes.Equal(p, sum[:]) })
}

package account

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// ErrBadPassword is returned for an invalid password.
var ErrBadPassword = errors.New("a password has 8 to 128 bytes")

// CheckPassword returns ErrBadPassword if a text cannot be set as a password.
func CheckPassword(password string) error {
	if len(password) < minPasswordBytes || len(password) > maxPasswordBytes {
		return fmt.Errorf("account: %w", ErrBadPassword)
	}
	return nil
}

// cost is what a hash takes.
type cost struct {
	memoryKiB, passes uint32
	lanes             uint8
}

// A digest is a password's hash. As text it is
//
//	$argon2id$v=19$m=19456,t=2,p=1$salt$key
//
// with salt and key in base64 without padding, as other programs write it.
type digest struct {
	cost
	salt, key []byte
}

// newDigest hashes a password with a new salt.
func newDigest(c cost, password string) digest {
	d := digest{cost: c, salt: randomBytes(saltBytes)}
	d.key = d.derive(password, keyBytes)
	return d
}

// dummyDigest returns what no password fits, and costs as much to find out.
func dummyDigest(c cost) digest {
	return digest{cost: c, salt: randomBytes(saltBytes), key: randomBytes(keyBytes)}
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // it never fails: crypto/rand ends the program instead
	return b
}

func (d digest) derive(password string, n int) []byte {
	return argon2.IDKey([]byte(password), d.salt, d.passes, d.memoryKiB, d.lanes, uint32(n))
}

// fits hashes a password and reports whether it is the one. How long it takes does not depend on
// either.
func (d digest) fits(password string) bool {
	return subtle.ConstantTimeCompare(d.derive(password, len(d.key)), d.key) == 1
}

func (d digest) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, d.memoryKiB, d.passes, d.lanes,
		base64.RawStdEncoding.EncodeToString(d.salt), base64.RawStdEncoding.EncodeToString(d.key))
}

// parseDigest reads the text of a digest. It refuses one that would take more than our limits.
func parseDigest(s string) (digest, bool) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return digest{}, false
	}
	c, ok := parseCost(parts[3])
	if !ok {
		return digest{}, false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	key, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || err2 != nil || len(salt) < 8 || len(salt) > 64 || len(key) < 16 || len(key) > 64 {
		return digest{}, false
	}
	return digest{c, salt, key}, true
}

func parseCost(s string) (cost, bool) {
	fields := strings.Split(s, ",")
	if len(fields) != 3 {
		return cost{}, false
	}
	var n [3]uint64
	for i, name := range []string{"m=", "t=", "p="} {
		digits, ok := strings.CutPrefix(fields[i], name)
		v, err := strconv.ParseUint(digits, 10, 32)
		if !ok || err != nil || v == 0 {
			return cost{}, false
		}
		n[i] = v
	}
	if n[0] > maxStoredMemoryKiB || n[1] > maxStoredPasses || n[2] > 16 {
		return cost{}, false
	}
	return cost{uint32(n[0]), uint32(n[1]), uint8(n[2])}, true
}

// HashPassword hashes a password for a Record, at a cost of 19 MiB and about 35 ms. It is for programs
// that fill a store without a Service. Unlike a Service, it does not limit how many run at once.
func HashPassword(password string) (string, error) {
	if err := CheckPassword(password); err != nil {
		return "", err
	}
	return newDigest(cost{hashMemoryKiB, hashPasses, hashLanes}, password).String(), nil
}

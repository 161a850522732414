package account

import (
	"errors"
	"strings"
	"testing"
)

// golden was made by another program: echo -n "correct horse" | argon2 somesaltsomesalt -id -t 2 -k 19456 -p 1 -l 32 -e
const golden = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$k9ohroejZy1PN5E1SbHNPug6vB8eQAahb5SOAp6iGF4"

func TestDigestOfAnotherProgram(t *testing.T) {
	d, ok := parseDigest(golden)
	if !ok || d.String() != golden {
		t.Fatalf("%q, %v", d, ok)
	}
	if d.cost != (cost{hashMemoryKiB, hashPasses, hashLanes}) {
		t.Errorf("the cost is %+v", d.cost)
	}
	if !d.fits("correct horse") || d.fits("correct horsf") || d.fits("") {
		t.Error("the wrong password fits")
	}
}

func TestHashPassword(t *testing.T) {
	one, err := HashPassword("correct horse")
	two, err2 := HashPassword("correct horse")
	if err != nil || err2 != nil || one == two || !strings.HasPrefix(one, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("%q, %q, %v, %v", one, two, err, err2)
	}
	if d, ok := parseDigest(one); !ok || !d.fits("correct horse") {
		t.Error("the password does not fit its hash")
	}
	for _, bad := range []string{"", "1234567", strings.Repeat("x", 129)} {
		if _, err := HashPassword(bad); !errors.Is(err, ErrBadPassword) {
			t.Errorf("a password of %d bytes: %v", len(bad), err)
		}
	}
}

func TestDummyFitsNothing(t *testing.T) {
	d := dummyDigest(cost{8, 1, 1})
	if d.fits("") || d.fits("correct horse") || len(d.key) != keyBytes || len(d.salt) != saltBytes {
		t.Errorf("%v", d)
	}
}

// What a store has may have been written by someone else, and must not make us take what we have not.
func TestDigestsThatAreRefused(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"nothing", ""},
		{"plain text", "correct horse"},
		{"another kind", strings.Replace(golden, "argon2id", "argon2i", 1)},
		{"another version", strings.Replace(golden, "v=19", "v=16", 1)},
		{"no memory", strings.Replace(golden, "m=19456", "m=0", 1)},
		{"4 GiB", strings.Replace(golden, "m=19456", "m=4194304", 1)},
		{"more than a number holds", strings.Replace(golden, "m=19456", "m=4294967296", 1)},
		{"no passes", strings.Replace(golden, "t=2", "t=0", 1)},
		{"a thousand passes", strings.Replace(golden, "t=2", "t=1000", 1)},
		{"no lanes", strings.Replace(golden, "p=1", "p=0", 1)},
		{"256 lanes", strings.Replace(golden, "p=1", "p=256", 1)},
		{"a sign", strings.Replace(golden, "t=2", "t=-2", 1)},
		{"another order", strings.Replace(golden, "m=19456,t=2", "t=2,m=19456", 1)},
		{"one number more", strings.Replace(golden, "p=1", "p=1,x=1", 1)},
		{"a short salt", strings.Replace(golden, "c29tZXNhbHRzb21lc2FsdA", "c29t", 1)},
		{"no base64", strings.Replace(golden, "c29t", "c*9t", 1)},
		{"a short key", golden[:len(golden)-30]},
		{"one part more", golden + "$"},
	} {
		if d, ok := parseDigest(tt.text); ok {
			t.Errorf("%s: %q is %v", tt.name, tt.text, d)
		}
	}
}

package program

import (
	"path/filepath"
	"strings"
	"testing"
)

// A room that is left aside is said where the server says that it keeps rooms.
func TestARoomThatIsLeftAsideIsSaid(t *testing.T) {
	p := newPond(t)
	p.serve(t, "--data", "kept")()
	s := serves(t, "--keep", "second", "--data", filepath.Join(p.dir, "kept"))
	if out := s.out.String(); !strings.Contains(out, "in trouble   room main is left aside") {
		t.Error(out)
	}
}

package promise

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWhatIsKeptIsNoted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tally")
	t.Setenv("PARLEY_TALLY", name)
	t.Run("passes", func(t *testing.T) {
		if n := Keeps(t, "T1 T2", "codec", 7); n != 7 {
			t.Errorf("7 is %d", n)
		}
	})
	t.Run("is skipped", func(t *testing.T) {
		Keeps(t, "T3", "codec", 7)
		t.Skip("so that it keeps nothing")
	})
	got, err := os.ReadFile(name)
	want := "T1\tcodec\t7\tTestWhatIsKeptIsNoted/passes\nT2\tcodec\t7\tTestWhatIsKeptIsNoted/passes\n"
	if err != nil || string(got) != want {
		t.Errorf("the tally is %q, want %q (%v)", got, want, err)
	}
}

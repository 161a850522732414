package keep

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"parley/internal/promise"
)

// T73: "full (small tmpfs)": the folder is on a file system that fills up, and is emptied later.
func TestFullDisk(t *testing.T) {
	for _, mode := range []Mode{Second, Tick} {
		t.Run(mode.String(), func(t *testing.T) {
			dir := mountSmall(t)
			synctest.Test(t, func(t *testing.T) {
				s := openShelf(t, Config{Dir: dir, Mode: mode})
				p := newTable(t, 1, s, "main")
				p.play(10)
				filler := fill(t, dir)
				playInTrouble(t, s, p, "no space left on device")
				if mode == Second {
					wantGoesOn(t, p)
				} else {
					wantStandsStill(t, p)
				}
				if err := os.Remove(filler); err != nil {
					t.Fatal(err)
				}
				goesOn(t, s, p, dir)
				promise.Kept(t, "T73", "keep", 1)
			})
		})
	}
}

// A folder that cannot be written is refused at the start, by name.
func TestReadOnlyFolder(t *testing.T) {
	dir := mountSmall(t)
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skip(err)
	}
	if _, err := Open(Config{Dir: dir, Mode: Second}); err == nil || !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
}

// mountSmall returns a folder with room for 512 KiB. A test that may not mount is skipped.
func mountSmall(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("keep", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skip("may not mount: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill fills the disk with a file, and returns its name.
func fill(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, endless{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return name
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

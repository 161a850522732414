//go:build !windows && (!unix || solaris || illumos || aix)

package keep

import (
	"errors"
	"io/fs"
	"os"
)

// takeLock makes a file that must not be there. These systems have no lock that ends with its process, so after a crash the operator
// removes the file: the error names it.
func takeLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, errTaken
	}
	return f, err
}

// dropLock gives the lock up.
func dropLock(f *os.File) {
	f.Close()
	os.Remove(f.Name())
}

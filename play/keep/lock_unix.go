//go:build unix && !solaris && !illumos && !aix

package keep

import (
	"errors"
	"os"
	"syscall"
)

// takeLock locks a file for this process, until it ends or closes the file.
func takeLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != syscall.EINTR {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errTaken
	}
	return nil, err
}

// dropLock gives the lock up. The file stays: another server may have opened it already.
func dropLock(f *os.File) { f.Close() }

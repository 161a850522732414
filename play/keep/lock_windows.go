package keep

import (
	"errors"
	"os"
	"syscall"
)

// sharingViolation is what opening a file returns that another process has opened for itself.
const sharingViolation = syscall.Errno(32)

// takeLock opens a file so that no other process can, until this one ends or closes it.
func takeLock(name string) (*os.File, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, errTaken
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), name), nil
}

// dropLock gives the lock up.
func dropLock(f *os.File) { f.Close() }

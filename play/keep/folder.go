package keep

import (
	"errors"
	"os"
	"runtime"
)

// SyncFolder has the name of a new file survive a loss of power.
func SyncFolder(dir string) error {
	if runtime.GOOS == "windows" { // a folder cannot be synced there, and NTFS has a journal of names
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

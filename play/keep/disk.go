package keep

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A disk is what keeping rooms needs of a file system. Tests have one that fails, and one that forgets.
type disk interface {
	// Make makes a folder and those above it, so that they are there after a loss of power.
	Make(dir string) error
	// List returns the names of the folders and of the files in a folder.
	List(dir string) (dirs, files []string, err error)
	// Create makes a file, or empties it.
	Create(name string) (file, error)
	// Append opens a file to write at its end.
	Append(name string) (file, error)
	// Read opens a file to read it.
	Read(name string) (io.ReadCloser, error)
	Rename(from, to string) error
	Remove(name string) error
	RemoveAll(dir string) error
	// SyncDir makes what was created, renamed and removed in a folder survive a loss of power.
	SyncDir(dir string) error
	// Leads reports whether a name still leads to a file that is open.
	Leads(name string, to file) bool
}

// A file is open for writing.
type file interface {
	io.Writer
	Sync() error
	Close() error
}

// osDisk is the file system. What it makes is for the server's user alone, as the log has what players say.
type osDisk struct{}

func (d osDisk) Make(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(dir)
	if above != dir {
		if err := d.Make(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.SyncDir(above)
}

func (osDisk) List(dir string) (dirs, files []string, err error) {
	all, err := os.ReadDir(dir)
	for _, e := range all {
		switch {
		case e.IsDir():
			dirs = append(dirs, e.Name())
		case e.Type().IsRegular():
			files = append(files, e.Name())
		}
	}
	return dirs, files, err
}

// The three below return an interface, which must not be a nil *os.File.

func (osDisk) Create(name string) (file, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osDisk) Append(name string) (file, error) {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osDisk) Read(name string) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osDisk) Rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) Remove(name string) error     { return os.Remove(name) }
func (osDisk) RemoveAll(dir string) error   { return os.RemoveAll(dir) }
func (osDisk) SyncDir(dir string) error     { return SyncFolder(dir) }

func (osDisk) Leads(name string, to file) bool {
	f, ok := to.(*os.File)
	if !ok {
		return false
	}
	open, err := f.Stat()
	if err != nil {
		return true // it says nothing of the name
	}
	there, err := os.Stat(name)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) // a folder may have become a file
	}
	return os.SameFile(open, there)
}

package web

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// TokenFile is where the folder of a server's data has the token of the operator's API.
const TokenFile = "operator.token"

// tokenBytes is more than can be guessed, at any rate.
const tokenBytes = 32

// OperatorToken reads the token of the operator's API from a folder. If there is none, it makes one, and the folder too. The
// file is for its owner alone: OperatorToken refuses one that others can read, as it has to be taken for known.
func OperatorToken(dir string) (string, error) {
	file := filepath.Join(dir, TokenFile)
	token, err := readToken(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	var b [tokenBytes]byte
	rand.Read(b[:])
	token = hex.EncodeToString(b[:])
	temp, err := os.CreateTemp(dir, TokenFile+".*") // with mode 0600; whoever waits for the file finds it whole
	if err != nil {
		return "", err
	}
	_, err = temp.WriteString(token + "\n")
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Link(temp.Name(), file) // unlike a rename it does not take the place of one that another server has just made
		if errors.Is(err, fs.ErrExist) {
			token, err = readToken(file)
		} else if err != nil { // a file system without links
			err = os.Rename(temp.Name(), file)
		}
	}
	os.Remove(temp.Name())
	return token, err
}

func readToken(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf("%s has the mode %#o, so others on this machine may know the token; delete it, and a new one is made", file, mode)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	token := bytes.TrimSpace(text)
	if b, err := hex.DecodeString(string(token)); err != nil || len(b) != tokenBytes {
		return "", fmt.Errorf("%s has no token of %d bytes in hex; delete it, and a new one is made", file, tokenBytes)
	}
	return string(token), nil
}

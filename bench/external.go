package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
)

// unpack writes the files of a peer that is a program of its own into a directory of the
// user's cache, whose name says what is in them, and returns that directory. What is built
// there is so built once.
func unpack(files fs.FS, folder string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	names, err := fs.Glob(files, folder+"/*")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	texts := map[string][]byte{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		texts[filepath.Base(name)] = text
		sum.Write(text)
	}
	dir := filepath.Join(cache, "parley-bench", folder+"-"+hex.EncodeToString(sum.Sum(nil)[:6]))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return "", err
		}
	}
	return dir, nil
}

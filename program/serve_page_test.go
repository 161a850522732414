package program

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serve has a page of the operator's own at / of --play, and says at the start if the folder has none.
func TestServeAPageOfOnesOwn(t *testing.T) {
	dir := t.TempDir()
	for folder, want := range map[string]string{dir: "it has no index.html", filepath.Join(dir, "none"): "--play-page: "} {
		if got := parley("", "serve --play-page "+folder+" --data "+t.TempDir()); got.status != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%s: status %d: %s", folder, got.status, got.err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("<p>mine</p>"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := serves(t, "--play-page", dir)
	res, err := http.Get("http://" + s.addrs["play"] + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != "<p>mine</p>" || !strings.Contains(res.Header.Get("Content-Security-Policy"), "'wasm-unsafe-eval'") {
		t.Errorf("%s: %s, %v, %v", res.Status, body, res.Header, err)
	}
}

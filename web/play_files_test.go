package web

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A page of one's own is served in place of ours: the files of its folder, and nothing else of the disk.
func TestAPageOfOnesOwn(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "page")
	for name, text := range map[string]string{
		"page/index.html": "<p>mine</p>", "page/game.wasm": "\x00asm", "page/js/main.js": "1", "page/js/mod.mjs": "2", "page/a.css": "3", "page/a.png": "4", "page/a.svg": "<svg/>",
		"page/.git/index.html": "secret", "page/.secret.js": "secret", "page/key.pem": "secret", "page/folder.js/x.css": "5", "secret.js": "secret", "pages/secret.js": "secret",
	} {
		at := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "secret.js"), filepath.Join(dir, "link.js")); err != nil {
		t.Logf("no links here: %v", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := CheckFiles(root.FS()); err != nil {
		t.Fatal(err)
	}
	x := newPlayTest(t, PlayConfig{Files: root.FS()})
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/index.html": "text/html; charset=utf-8", "/game.wasm": "application/wasm", "/js/main.js": "text/javascript; charset=utf-8",
		"/js/mod.mjs": "text/javascript; charset=utf-8", "/a.css": "text/css; charset=utf-8", "/a.png": "image/png", "/a.svg": "image/svg+xml", "/parley.js": "text/javascript; charset=utf-8",
	} {
		w := x.call("GET", path, "198.51.100.1:5", "")
		h := w.Header()
		if w.Code != 200 || h.Get("Content-Type") != kind || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("ETag") == "" {
			t.Errorf("%s: status %d, %v", path, w.Code, h)
		}
		policy := h.Get("Content-Security-Policy")
		if strings.Contains(policy, "'wasm-unsafe-eval'") != (path != "/parley.js") || strings.Contains(policy, "unsafe-inline") || !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s: its policy is %q", path, policy)
		}
		if again := x.call("GET", path, "198.51.100.1:5", "", "If-None-Match: "+h.Get("ETag")); again.Code != 304 || again.Body.Len() > 0 {
			t.Errorf("%s: what has not changed is sent again: %d", path, again.Code)
		}
		if w := x.call("POST", path, "198.51.100.1:5", "x"); w.Code != 405 {
			t.Errorf("POST %s: status %d", path, w.Code)
		}
	}
	if w := x.call("GET", "/", "198.51.100.1:5", ""); w.Body.String() != "<p>mine</p>" {
		t.Errorf("it is %q", w.Body)
	}
	for _, path := range []string{
		"/js", "/js/", "/folder.js", "/folder.js/", "/none.js", "/.git/index.html", "/.secret.js", "/key.pem", "/link.js", "/page/play.js", "//secret.js", "/../secret.js", "/js/../../secret.js",
		"/%2e%2e/secret.js", "/..%2fsecret.js", "/..%5csecret.js", "/js/%2e%2e/%2e%2e/secret.js", "/../pages/secret.js", "/index.html%00.js", "/./index.html", "/js//main.js",
	} {
		if w := x.call("GET", path, "198.51.100.1:5", ""); w.Code != 404 || strings.Contains(w.Body.String(), "secret\n") {
			t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
		}
	}
	x.want(x.call("GET", "/play/server", "198.51.100.1:5", ""), 200, "dialects")
	if root, err = os.OpenRoot(filepath.Join(dir, "js")); err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := CheckFiles(root.FS()); err == nil || err.Error() != "it has no index.html" {
		t.Errorf("a folder without a page: %v", err)
	}
}

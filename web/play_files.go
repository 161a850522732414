package web

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// withWasm is a policy for a page of one's own, which may be a program in WebAssembly.
func withWasm(policy string) string {
	return strings.Replace(policy, "script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'", 1)
}

// ownTypes are the files that a page of one's own may have beside those of ours. What is of no type here is not served.
var ownTypes = map[string]string{
	".mjs": "text/javascript; charset=utf-8", ".json": "application/json", ".wasm": "application/wasm", ".txt": "text/plain; charset=utf-8",
	".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp", ".ico": "image/x-icon",
}

func typeOf(name string) string {
	end := strings.ToLower(path.Ext(name))
	if kind := pageTypes[end]; kind != "" {
		return kind
	}
	return ownTypes[end]
}

// CheckFiles reports whether dir has a page.
func CheckFiles(dir fs.FS) error {
	about, err := fs.Stat(dir, "index.html")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("it has no index.html")
	case err != nil:
		return fmt.Errorf("its index.html: %w", err)
	case !about.Mode().IsRegular():
		return errors.New("its index.html is no file")
	}
	return nil
}

// serveFile answers a request for a file of the operator's own page. It reports false, and answers nothing, if there is none: also for folders,
// for names that begin with a dot, such as .git, and for types that pages do not load.
func (p *play) serveFile(w http.ResponseWriter, r *http.Request) bool {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	kind := typeOf(name)
	if p.Files == nil || kind == "" || strings.Contains("/"+name, "/.") || strings.ContainsAny(name, "\\:\x00") || !fs.ValidPath(name) {
		return false
	}
	about, err := fs.Stat(p.Files, name) // to open what is no file could take for ever
	if err != nil || !about.Mode().IsRegular() {
		return false
	}
	file, err := p.Files.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	body, ok := file.(io.ReadSeeker)
	if about, err = file.Stat(); !ok || err != nil || !about.Mode().IsRegular() {
		return false
	}
	w.Header().Set("Content-Security-Policy", withWasm(policyFor(r.Host, p.webTransport(r))))
	if !pageHead(w, r, kind) {
		return true
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, about.ModTime().UnixNano(), about.Size()))
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(fileTime)) // its only error is that of a test's writer
	http.ServeContent(w, r, "", time.Time{}, body)
	return true
}

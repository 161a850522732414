package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// playDir is the page on which people play in a browser. It has no build step: what is in the folder is what is served.
//
//go:embed play
var playDir embed.FS

// pagePrefix is where the files of the page are, except index.html, which is at /, and parley.js, which other pages use too.
const pagePrefix = "/page/"

// libraryPath is where the client library is.
const libraryPath = "/parley.js"

// playPolicy lets the page load nothing that is not ours, run no script that is in a text, and be in no frame. A name or a line of chat can do
// nothing, even if it should get into the page as more than text.
const playPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// policyFor is the policy of the page for those who know the server by a host: its WebTransport is another origin if its port is not that of the page,
// as behind a proxy.
func policyFor(host string, wt *PlayWT) string {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, ""
	}
	if wt == nil || port == strconv.Itoa(wt.Port) || strings.ContainsAny(name, ":[];, ") { // a policy cannot name an address of IPv6
		return playPolicy
	}
	return strings.Replace(playPolicy, "connect-src 'self'", "connect-src 'self' https://"+net.JoinHostPort(name, strconv.Itoa(wt.Port)), 1)
}

var pageTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// pageFile is a file of the page.
type pageFile struct {
	body []byte
	kind string
	etag string
}

// pageFiles are the files of the page by their paths.
func pageFiles(dir fs.FS) map[string]*pageFile {
	files := map[string]*pageFile{}
	names, _ := fs.Glob(dir, "play/*") // its only error is that of a bad pattern
	for _, name := range names {
		body, err := fs.ReadFile(dir, name)
		kind := pageTypes[path.Ext(name)]
		if err != nil || kind == "" {
			continue
		}
		at := pagePrefix + path.Base(name)
		switch path.Base(name) {
		case "index.html":
			at = "/"
		case "parley.js":
			at = libraryPath
		}
		sum := sha256.Sum256(body)
		files[at] = &pageFile{body, kind, `"` + hex.EncodeToString(sum[:12]) + `"`}
	}
	return files
}

// ServeHTTP answers a request for the file. A browser asks each time whether it has changed, so that a page and its server are always of one
// version.
func (f *pageFile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !pageHead(w, r, f.kind) {
		return
	}
	w.Header().Set("ETag", f.etag)
	switch {
	case strings.Contains(r.Header.Get("If-None-Match"), f.etag):
		w.WriteHeader(http.StatusNotModified)
	case r.Method == http.MethodGet:
		w.Write(f.body) // its only error is that of a client that left
	}
}

// pageHead sets what all files of pages have in their headers beside the policy. It reports false if the request has been answered, as files are only read.
func pageHead(w http.ResponseWriter, r *http.Request, kind string) bool {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	h.Set("Allow", "GET, HEAD")
	w.WriteHeader(http.StatusMethodNotAllowed)
	return false
}

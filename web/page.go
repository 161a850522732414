package web

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"time"
)

// operatorFiles is the operator's page. It is the same for everybody and tells nothing of the server: all that it shows it asks the API for, with the
// token.
//
//go:embed operator/*.html operator/*.css operator/*.js operator/*.svg
var operatorFiles embed.FS

// fileTypes are the types of the page's files.
var fileTypes = map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// files are the files of the page, by their paths. There are no others.
func files() map[string]http.Handler {
	list := map[string]http.Handler{}
	entries, err := fs.ReadDir(operatorFiles, "operator")
	if err != nil {
		panic("web: the files of the page: " + err.Error())
	}
	for _, e := range entries {
		at := "/operator/" + e.Name()
		text, err := operatorFiles.ReadFile("operator/" + e.Name())
		if err != nil {
			panic("web: the files of the page: " + err.Error())
		}
		if e.Name() == "index.html" {
			at = "/{$}"
		}
		list[at] = file(fileTypes[path.Ext(e.Name())], text)
	}
	return list
}

func file(kind string, text []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
	})
}

package httpapi

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// pageFile is a file of the page with the entity tag of its content.
type pageFile struct {
	content []byte
	etag    string
}

// pageRoutes serves the page's files at the root. They are read once: they are part of the program. Browsers ask each
// time whether theirs still holds, so a new program's page never mixes with an old one's.
func pageRoutes(mux *http.ServeMux, page fs.FS, policy string) error {
	files := map[string]pageFile{}
	err := fs.WalkDir(page, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(page, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		files["/"+name] = pageFile{content: content, etag: fmt.Sprintf(`"%x"`, sum[:12])}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	if index, ok := files["/index.html"]; ok {
		files["/"] = index
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		f, ok := files[r.URL.Path]
		if !ok {
			notFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			methodNotAllowed("GET, HEAD")(w, r)
			return
		}
		h := w.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Security-Policy", policy)
		h.Set("Etag", f.etag)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		name := path.Base(r.URL.Path)
		if strings.HasSuffix(r.URL.Path, "/") {
			name = "index.html"
		}
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(f.content))
	})
	return nil
}

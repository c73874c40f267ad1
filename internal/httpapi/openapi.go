package httpapi

import (
	_ "embed"
	"net/http"
	"strconv"
)

// The description of the public API, once for people and once for programs. A test holds them equal, and checks every
// answer of the handlers against them.
var (
	//go:embed openapi.yaml
	openAPIYAML []byte
	//go:embed openapi.json
	openAPIJSON []byte
)

func openAPIRoutes(mux *http.ServeMux) {
	for path, document := range map[string]struct {
		contentType string
		body        []byte
	}{
		"/openapi.yaml": {"application/yaml", openAPIYAML},
		"/openapi.json": {"application/json", openAPIJSON},
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", "*")
			h.Set("Cache-Control", "public, max-age=300")
			h.Set("Content-Length", strconv.Itoa(len(document.body)))
			h.Set("Content-Type", document.contentType)
			h.Set("X-Content-Type-Options", "nosniff")
			_, _ = w.Write(document.body)
		})
		mux.HandleFunc(path, methodNotAllowed("GET, HEAD"))
	}
}

package httpapi

import (
	"net/http"

	"crest"
	"crest/internal/config"
)

// healthRoutes adds GET /healthz, which answers while the process lives, and GET /readyz, which answers with 503 until
// there is a list to serve and nothing else is in the way; ready may be nil.
func healthRoutes(mux *http.ServeMux, lists Lists, cfg *config.Config, ready func() error) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, statusJSON{Status: "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := whyNotReady(lists, cfg, ready); err != nil {
			writeError(w, err)
			return
		}
		writeJSON(w, http.StatusOK, statusJSON{Status: "ready"})
	})
	mux.HandleFunc("/healthz", methodNotAllowed("GET, HEAD"))
	mux.HandleFunc("/readyz", methodNotAllowed("GET, HEAD"))
}

// statusJSON is the answer to a question about health.
type statusJSON struct {
	Status string `json:"status"`
}

func whyNotReady(lists Lists, cfg *config.Config, ready func() error) error {
	if ready != nil {
		if err := ready(); err != nil {
			return crest.Errorf(crest.CodeNotReady, "", "%v", err)
		}
	}
	for _, t := range cfg.Types {
		for _, w := range cfg.Windows {
			if lists.Current(t.Name, w.Name) != nil {
				return nil
			}
		}
	}
	return crest.Errorf(crest.CodeNotReady, "", "no list has been made or loaded yet")
}

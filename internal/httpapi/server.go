// Package httpapi is Crest over HTTP: the write edge, the read edge, the page, and the operator's endpoints.
package httpapi

import (
	"io/fs"
	"net/http"
	"time"

	"crest"
	"crest/internal/config"
)

// Public is what the public server is made of.
type Public struct {
	Config     *config.Config           // a valid configuration
	Lists      Lists                    // what readers get
	Grades     Grades                   // how lists compared with exact counts; nil where nothing is graded
	Write      func(mux *http.ServeMux) // adds the write edge (see WriteRoutes); nil for a server that only reads
	Page       fs.FS                    // the page, with index.html at its root; nil for none
	PagePolicy string                   // the Content-Security-Policy of the page
	Ready      func() error             // why the node is not ready; nil when lists are all that is needed
	Now        func() time.Time         // the clock; time.Now when nil
	Observer   Observer
}

// Observer is told what a server does. Every function may be nil; they are called concurrently and must not block.
type Observer struct {
	Answered func(route string, status int, took time.Duration) // route is a pattern, "GET /v1/top"; "" when nothing fits
	Panicked func(route string, value any, stack []byte)        // a handler did; its client got an error
}

// NewPublic returns the handler of the public API and the page.
func NewPublic(p Public) (http.Handler, error) {
	if p.Now == nil {
		p.Now = time.Now
	}
	mux := http.NewServeMux()
	readRoutes(mux, p.Lists, p.Config, p.Now)
	gradesRoutes(mux, p.Grades, p.Config)
	if p.Write != nil {
		p.Write(mux)
	}
	healthRoutes(mux, p.Lists, p.Config, p.Ready)
	openAPIRoutes(mux)
	if p.Page == nil {
		mux.HandleFunc("/", notFound)
	} else if err := pageRoutes(mux, p.Page, p.PagePolicy); err != nil {
		return nil, err
	}
	return observe(mux, p.Observer), nil
}

func notFound(w http.ResponseWriter, r *http.Request) {
	writeError(w, crest.Errorf(crest.CodeNotFound, "", "there is nothing at %.200q; GET /openapi.yaml says what there is", r.URL.Path))
}

// The public server's limits on slow clients and long headers.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
)

// NewServer returns a server of a public handler. It is the caller's to start and to shut down.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
}

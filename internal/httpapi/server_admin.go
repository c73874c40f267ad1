package httpapi

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"time"
)

// Admin is what the operator's server is made of. It must not be reachable by strangers.
type Admin struct {
	Metrics  func() []Metric                             // the node's figures at this moment; nil for none
	Config   string                                      // the whole configuration, as YAML
	Ready    http.Handler                                // answers /healthz and /readyz, as the public handler does; nil for none
	Panicked func(route string, value any, stack []byte) // as Observer's; nil for none
	Exact    func(mux *http.ServeMux)                    // adds the exact path's endpoints (see ExactRoutes); nil for none
}

// NewAdmin returns the handler of the operator's endpoints: /metrics, /debug/config and /debug/pprof/, and those of the
// exact path.
func NewAdmin(a Admin) http.Handler {
	mux := http.NewServeMux()
	contents := "Crest, operator's endpoints\n\n/metrics       figures for Prometheus\n/healthz       does the process live\n" +
		"/readyz        can it serve\n/debug/config  the configuration in force\n/debug/pprof/  profiles\n"
	if a.Exact != nil {
		a.Exact(mux)
		contents += "\nGET /v1/explain?type=&id=&board=  what an item's counts are built from\n" +
			"POST /v1/archive:commit           have everything received so far archived\n"
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { writeText(w, contents) })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		metrics := processMetrics()
		if a.Metrics != nil {
			metrics = append(a.Metrics(), metrics...)
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(appendMetrics(nil, metrics))
	})
	mux.HandleFunc("GET /debug/config", func(w http.ResponseWriter, _ *http.Request) { writeText(w, a.Config) })
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	if a.Ready != nil {
		mux.Handle("GET /healthz", a.Ready)
		mux.Handle("GET /readyz", a.Ready)
	}
	mux.HandleFunc("/", notFound)
	return observe(mux, Observer{Panicked: a.Panicked})
}

func writeText(w http.ResponseWriter, text string) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = fmt.Fprint(w, text)
}

// NewAdminServer returns a server of the operator's handler. A profile takes as long as it is asked to, so its answers
// may take minutes.
func NewAdminServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, WriteTimeout: 10 * time.Minute,
	}
}

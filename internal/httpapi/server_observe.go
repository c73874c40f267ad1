package httpapi

import (
	"net/http"
	"runtime/debug"
	"time"

	"crest"
)

// observe calls a handler and tells the observer how it went. No panic of a handler gets to the client: it is answered
// with an error, or, when the answer had begun, its connection is cut, so that half an answer can't pass for a whole.
func observe(next http.Handler, o Observer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		a := &answer{ResponseWriter: w}
		defer func() {
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler { //nolint:errorlint // recover gives what was thrown, never something around it
					panic(v)
				}
				if o.Panicked != nil {
					o.Panicked(r.Pattern, v, debug.Stack())
				}
				if a.status != 0 {
					panic(http.ErrAbortHandler)
				}
				writeError(a, crest.Errorf(crest.CodeInternal, "", "something is wrong on this side; try again later"))
			}
			if o.Answered != nil {
				o.Answered(r.Pattern, a.status, time.Since(began))
			}
		}()
		next.ServeHTTP(a, r)
	})
}

// answer notes the status of an answer.
type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController find the methods of what is inside.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

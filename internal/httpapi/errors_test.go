package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"crest"
)

func TestWriteError(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		status int
		body   string
		retry  string
	}{
		{
			name:   "wrapped",
			err:    fmt.Errorf("read body: %w", crest.Errorf(crest.CodeCorruptEncoding, "", "is cut off")),
			status: 400,
			body:   `{"error":{"code":"corrupt_encoding","message":"is cut off"}}`,
		},
		{
			name:   "with the right values",
			err:    withValid(crest.Errorf(crest.CodeUnknownWindow, "window", "is unknown"), []string{"1m", "1h"}),
			status: 404,
			body:   `{"error":{"code":"unknown_window","field":"window","message":"is unknown","valid":["1m","1h"]}}`,
		},
		{
			name:   "the log is behind",
			err:    crest.Errorf(crest.CodeBehind, "", "retry"),
			status: 429,
			body:   `{"error":{"code":"behind","message":"retry"}}`,
			retry:  "1",
		},
		{
			name:   "the log can't write",
			err:    crest.Errorf(crest.CodeLogUnavailable, "", "retry"),
			status: 503,
			body:   `{"error":{"code":"log_unavailable","message":"retry"}}`,
			retry:  "1",
		},
		{
			name:   "no code, no details",
			err:    errors.New("open /secret: no such file"),
			status: 500,
			body:   `{"error":{"code":"internal","message":"something is wrong on this side; try again later"}}`,
		},
		{
			name:   "client has gone",
			err:    fmt.Errorf("append: %w", context.Canceled),
			status: 499,
			body:   `{"error":{"code":"client_closed","message":"the client closed the connection before it was answered"}}`,
		},
		{
			name:   "too slow",
			err:    context.DeadlineExceeded,
			status: 503,
			body:   `{"error":{"code":"timeout","message":"it took too long; try again"}}`,
			retry:  "1",
		},
		{
			name:   "body limit",
			err:    &http.MaxBytesError{Limit: 10},
			status: 413,
			body:   `{"error":{"code":"body_too_large","message":"the body has more than 10 bytes; send less at a time"}}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			writeError(w, test.err)
			if w.Code != test.status || w.Body.String() != test.body+"\n" {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, test.status, test.body)
			}
			if got := w.Header().Get("Retry-After"); got != test.retry {
				t.Errorf("Retry-After is %q, want %q", got, test.retry)
			}
			if got := w.Header().Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control is %q", got)
			}
		})
	}
}

func TestMethodNotAllowed(t *testing.T) {
	w := httptest.NewRecorder()
	methodNotAllowed("POST")(w, httptest.NewRequest(http.MethodPut, "/v1/events", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
		t.Errorf("got %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}

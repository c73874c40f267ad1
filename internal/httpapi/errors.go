package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"crest"
)

// statusClientClosed is what nginx made the custom for a client that left before its answer; no such client sees it.
const statusClientClosed = 499

// retryAfter is how many seconds a client should wait that is told to come again.
const retryAfter = 1

// statusOf is the one table from error codes to HTTP statuses, for both edges.
func statusOf(code crest.Code) int {
	switch code {
	case crest.CodeMalformed, crest.CodeMissingField, crest.CodeInvalidUTF8,
		crest.CodeControlChar, crest.CodeTooLong, crest.CodeOutOfRange, crest.CodeUnknownValue, crest.CodeTooOld,
		crest.CodeTooFarAhead, crest.CodeEmptyAfterNormalization, crest.CodeEmptyBody, crest.CodeCorruptEncoding,
		crest.CodeInvalidK, crest.CodeInvalidParameter:
		return http.StatusBadRequest
	case crest.CodeUnknownType, crest.CodeUnknownWindow, crest.CodeUnknownBoard, crest.CodeNotFound:
		return http.StatusNotFound
	case crest.CodeMethodNotAllowed:
		return http.StatusMethodNotAllowed
	case crest.CodeBodyTooLarge, crest.CodeTooManyEvents:
		return http.StatusRequestEntityTooLarge
	case crest.CodeUnsupportedMedia, crest.CodeUnsupportedEncoding:
		return http.StatusUnsupportedMediaType
	case crest.CodeBehind, crest.CodeTooManyRequests:
		return http.StatusTooManyRequests
	case crest.CodeLogUnavailable, crest.CodeShuttingDown, crest.CodeNotReady, crest.CodeTimeout:
		return http.StatusServiceUnavailable
	case crest.CodeClientClosed:
		return statusClientClosed
	case crest.CodeInternal:
	}
	return http.StatusInternalServerError
}

// errorBody is the JSON of an answer that is nothing but an error.
type errorBody struct {
	Error errorJSON `json:"error"`
}

// errorJSON is the JSON of an error, with the values that would have been right where they are few.
type errorJSON struct {
	Code    crest.Code `json:"code"`
	Field   string     `json:"field,omitempty"`
	Message string     `json:"message"`
	Valid   []string   `json:"valid,omitempty"`
}

// validError is an error about a parameter that has few right values.
type validError struct {
	err   *crest.Error
	valid []string
}

// withValid adds to an error the values that would have been right.
func withValid(err *crest.Error, valid []string) error { return &validError{err: err, valid: valid} }

func (e *validError) Error() string { return e.err.Error() }
func (e *validError) Unwrap() error { return e.err }

// writeError answers with the error's status and its JSON, {"error":{"code","field","message","valid"}}. An error
// without a code is an internal one, whose text is not for strangers. No answer with an error may be cached.
func writeError(w http.ResponseWriter, err error) {
	e := toErrorJSON(publicError(err))
	if v, ok := errors.AsType[*validError](err); ok {
		e.Valid = v.valid
	}
	writeJSON(w, statusOf(e.Code), errorBody{Error: e})
}

func toErrorJSON(e *crest.Error) errorJSON {
	return errorJSON{Code: e.Code, Field: e.Field, Message: e.Message}
}

// writeJSON answers with a status and a JSON body that is not to be cached, and says when to retry if that can help.
func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer can't be written as JSON"}}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(text)+1))
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(retryAfter))
	}
	w.WriteHeader(status)
	// A client that has gone can't be told, and it is nobody else's trouble.
	_, _ = w.Write(append(text, '\n'))
}

// publicError returns what a stranger may know about an error.
func publicError(err error) *crest.Error {
	if e, ok := errors.AsType[*crest.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return crest.Errorf(crest.CodeBodyTooLarge, "", "the body has more than %d bytes; send less at a time", e.Limit)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return crest.Errorf(crest.CodeClientClosed, "", "the client closed the connection before it was answered")
	case errors.Is(err, context.DeadlineExceeded):
		return crest.Errorf(crest.CodeTimeout, "", "it took too long; try again")
	}
	return crest.Errorf(crest.CodeInternal, "", "something is wrong on this side; try again later")
}

// methodNotAllowed answers requests for a path that exists with a method that it doesn't have.
func methodNotAllowed(allowed string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allowed)
		writeError(w, crest.Errorf(crest.CodeMethodNotAllowed, "", "%s can't be used here; use %s", r.Method, allowed))
	}
}

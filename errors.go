package crest

import (
	"errors"
	"fmt"
)

// Code names a kind of error. Codes are part of the API: clients may switch on them, so they never change meaning.
type Code string

// The codes of errors that concern one event. A refused event takes nothing else of its batch with it.
const (
	CodeMalformed               Code = "malformed"                 // not JSON, not protobuf, or of the wrong shape
	CodeMissingField            Code = "missing_field"             // a required field is absent or empty
	CodeInvalidUTF8             Code = "invalid_utf8"              // text that is not UTF-8
	CodeControlChar             Code = "control_character"         // text with a control character
	CodeTooLong                 Code = "too_long"                  // a field longer than its limit
	CodeOutOfRange              Code = "out_of_range"              // a number outside its range
	CodeUnknownType             Code = "unknown_type"              // a type that the configuration does not declare
	CodeUnknownValue            Code = "unknown_value"             // a dimension value that the configuration does not list
	CodeTooOld                  Code = "too_old"                   // event time more than MaxAge before it was received
	CodeTooFarAhead             Code = "too_far_ahead"             // event time more than MaxAhead after it was received
	CodeEmptyAfterNormalization Code = "empty_after_normalization" // nothing is left once it is normalised
)

// The codes of errors that concern a whole request.
const (
	CodeEmptyBody           Code = "empty_body"
	CodeBodyTooLarge        Code = "body_too_large"
	CodeTooManyEvents       Code = "too_many_events"
	CodeUnsupportedMedia    Code = "unsupported_media_type"
	CodeUnsupportedEncoding Code = "unsupported_encoding"
	CodeCorruptEncoding     Code = "corrupt_encoding" // truncated or damaged gzip or zstd
	CodeBehind              Code = "behind"           // the log can't take more now: retry later
	CodeLogUnavailable      Code = "log_unavailable"  // the log can't write: nothing was accepted
	CodeUnknownWindow       Code = "unknown_window"
	CodeUnknownBoard        Code = "unknown_board"
	CodeInvalidK            Code = "invalid_k"
	CodeInvalidParameter    Code = "invalid_parameter"
	CodeNotFound            Code = "not_found"
	CodeMethodNotAllowed    Code = "method_not_allowed"
	CodeShuttingDown        Code = "shutting_down"
	CodeTimeout             Code = "timeout"
	CodeInternal            Code = "internal"
	CodeNotReady            Code = "not_ready"
	CodeClientClosed        Code = "client_closed"
	CodeTooManyRequests     Code = "too_many_requests" // the memory for bodies is in use: retry later
)

// Error is an error that a caller can act on: what kind, which field, and why, in words for a person.
type Error struct {
	Code    Code   `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// Error returns the field and the reason in one line.
func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s (%s)", e.Message, e.Code)
	}
	return fmt.Sprintf("%s: %s (%s)", e.Field, e.Message, e.Code)
}

// Errorf builds an [Error]; field may be empty when the error concerns no single field.
func Errorf(code Code, field, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of the first [Error] in err's chain, CodeInternal when there is none, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

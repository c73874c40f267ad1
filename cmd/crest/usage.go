package main

import (
	"errors"
	"fmt"
	"slices"

	"crest"
)

// usageError is a mistake in how a command was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// asUsage tells mistakes in flags from failures.
func asUsage(err error) error {
	switch crest.CodeOf(err) {
	case crest.CodeInvalidK, crest.CodeInvalidParameter, crest.CodeOutOfRange, crest.CodeMissingField:
		return usageError{err}
	default:
		return err
	}
}

// namingFlags returns an error, or each of several that are joined, with a flag's name in place of the field that the
// flag has set.
func namingFlags(err error, flags ...string) error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, namingFlags(e, flags...))
		}
		return errors.Join(all...)
	}
	if e, ok := errors.AsType[*crest.Error](err); ok && slices.Contains(flags, e.Field) {
		return crest.Errorf(e.Code, "--"+e.Field, "%s", e.Message)
	}
	return err
}

package ingest

import (
	"strings"

	"crest"
)

// Format is how events are written in a body.
type Format uint8

// The formats.
const (
	FormatJSON     Format = iota // an array, one object, or objects line by line: the body tells which
	FormatNDJSON                 // an object a line
	FormatProtobuf               // crest.v1.Batch
)

// FormatOf returns the format that a Content-Type header names. Text, and no header at all, is taken for JSON: browsers
// send beacons as text. An unknown type is a CodeUnsupportedMedia.
func FormatOf(contentType string) (Format, error) {
	name, _, _ := strings.Cut(contentType, ";")
	hint := ""
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "", "text/plain", "application/json", "text/json":
		return FormatJSON, nil
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines":
		return FormatNDJSON, nil
	case "application/x-protobuf", "application/protobuf", "application/vnd.google.protobuf":
		return FormatProtobuf, nil
	case "application/x-www-form-urlencoded":
		hint = "; curl -d says so unless it is given -H 'Content-Type: application/json'"
	}
	return 0, crest.Errorf(crest.CodeUnsupportedMedia, "Content-Type",
		"is %s; send one of application/json, application/x-ndjson, application/x-protobuf%s", quote(name), hint)
}

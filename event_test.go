package crest

import (
	"strings"
	"testing"
)

func TestEventIDKeepsItsTextForm(t *testing.T) {
	const text = "01234567-89ab-4def-8123-456789abcdef"
	id := ParseEventID(text)
	if got := id.String(); got != text {
		t.Errorf("%s came back as %s", text, got)
	}
	if got := ParseEventID(strings.ToUpper(text)); got != id {
		t.Errorf("upper case is another id: %s", got)
	}
	if hashed := ParseEventID("tab-1/7"); ParseEventID(hashed.String()) != hashed {
		t.Error("the text form of a hashed id is another id")
	}
	if got := string(id.Append([]byte("id="))); got != "id="+text {
		t.Errorf("appended: %s", got)
	}
}

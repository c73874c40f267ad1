package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"time"

	"github.com/goccy/go-yaml"

	"crest"
)

// MaxFile is the largest configuration file that is read.
const MaxFile = MiB

// DefaultPreset is what a node runs when neither a flag nor a file names a preset.
const DefaultPreset = "views"

// Load returns the configuration of a preset with the fields of the YAML file at path laid over it, validated. Both
// arguments may be empty: no path means the preset alone, no preset means the file's, or DefaultPreset. A preset that
// contradicts the file's is an error. A field the file leaves out keeps the preset's value; a list it names replaces the
// preset's whole list. Unknown and repeated fields are errors that give their line.
func Load(path, preset string) (Config, error) {
	if path == "" {
		return parse(nil, preset)
	}
	data, err := readFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	c, err := parse(data, preset)
	if err != nil {
		return Config{}, fmt.Errorf("configuration %s: %w", path, err)
	}
	return c, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(MaxFile)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > int(MaxFile) {
		return nil, crest.Errorf(crest.CodeTooLong, "", "%s is larger than %s; is it a configuration file?", path, MaxFile)
	}
	return data, nil
}

// parse reads the file's preset first, because it decides what the other fields are laid over.
func parse(data []byte, preset string) (Config, error) {
	var named struct {
		Preset string `yaml:"preset"`
	}
	if onlyComments(data) {
		data = nil
	}
	if err := decode(data, &named); err != nil {
		return Config{}, err
	}
	switch {
	case named.Preset == "" && preset == "":
		preset = DefaultPreset
	case preset == "":
		preset = named.Preset
	case named.Preset != "" && named.Preset != preset:
		return Config{}, crest.Errorf(crest.CodeOutOfRange, "preset",
			"the file says %q and the flag says %q; remove one of them", named.Preset, preset)
	}
	c, err := Preset(preset)
	if err != nil {
		return Config{}, err
	}
	if err := decode(data, &c, yaml.Strict()); err != nil {
		return Config{}, err
	}
	c.Preset = preset
	if err := c.Validate(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// onlyComments matters because the decoder clears its target when a file holds no document.
func onlyComments(data []byte) bool {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

func decode(data []byte, into any, options ...yaml.DecodeOption) error {
	if len(data) == 0 {
		return nil
	}
	options = append(options, yaml.CustomUnmarshaler(unmarshalDuration), yaml.CustomUnmarshaler(unmarshalBytes))
	d := yaml.NewDecoder(bytes.NewReader(data), options...)
	if err := d.Decode(into); err != nil {
		return locate(data, err)
	}
	var more any
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return crest.Errorf(crest.CodeMalformed, "", "holds more than one YAML document; only one is read")
	}
	return nil
}

// valueError is of a value whose position the decoder does not give; locate looks for it.
type valueError struct {
	error

	text string // as the file has it
	of   reflect.Type
}

func (e valueError) Unwrap() error { return e.error }

func unmarshalDuration(d *time.Duration, raw []byte) error {
	text := unquoted(raw)
	if text == "0" {
		*d = 0
		return nil
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return valueError{fmt.Errorf("%q is not a duration; write 250ms, 10s, 5m or 24h", text), text, reflect.TypeFor[time.Duration]()}
	}
	*d = parsed
	return nil
}

func unmarshalBytes(b *Bytes, raw []byte) error {
	text := unquoted(raw)
	parsed, err := ParseBytes(text)
	if err != nil {
		return valueError{err, text, reflect.TypeFor[Bytes]()}
	}
	*b = parsed
	return nil
}

func unquoted(raw []byte) string { return string(bytes.Trim(bytes.TrimSpace(raw), `"'`)) }

// locate turns a decoding error into one that begins with its line, where that is certain.
func locate(data []byte, err error) error {
	var positioned yaml.Error
	if errors.As(err, &positioned) && positioned.GetToken() != nil {
		p := positioned.GetToken().Position
		return crest.Errorf(crest.CodeMalformed, "", "line %d, column %d: %s", p.Line, p.Column, positioned.GetMessage())
	}
	reason := err.Error()
	if bad, ok := errors.AsType[*crest.Error](err); ok {
		reason = bad.Message
	}
	if bad, ok := errors.AsType[valueError](err); ok {
		if at := lineOf(data, bad); at > 0 {
			return crest.Errorf(crest.CodeMalformed, "", "line %d: %s", at, reason)
		}
	}
	return crest.Errorf(crest.CodeMalformed, "", "%s", reason)
}

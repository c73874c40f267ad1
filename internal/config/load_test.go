package config

import (
	"cmp"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"crest"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crest.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPresetsAreValid(t *testing.T) {
	for _, name := range Presets() {
		c, err := Load("", name)
		if err != nil {
			t.Errorf("preset %s: %v", name, err)
		}
		if c.Preset != name {
			t.Errorf("preset %s says it is %q", name, c.Preset)
		}
	}
	if c, err := Load("", ""); err != nil || c.Preset != DefaultPreset {
		t.Errorf("no preset: got %q, %v", c.Preset, err)
	}
}

func TestFileIsLaidOverThePreset(t *testing.T) {
	c, err := Load(write(t, `
preset: shares
listen: ":9000"
counting:
  bucket: 2MiB # two of them
  dedup_horizon: 30s # not for long
  dedup_memory: "2 GiB" # 'as much'
  narrow_bucket: 100_000
windows:
  - {name: 5m, length: 5m, bucket: 5s, refresh: 1s}
  - {name: all, length: 0, refresh: 1m}
lists: {max_k: 50}
`), "")
	if err != nil {
		t.Fatal(err)
	}
	preset, _ := Preset("shares")
	if c.Preset != "shares" || c.Listen != ":9000" || c.Lists.MaxK != 50 {
		t.Errorf("named fields: %+v", c)
	}
	if c.Counting.Bucket != 2*MiB || c.Counting.DedupHorizon != 30*time.Second {
		t.Errorf("named counting fields: %+v", c.Counting)
	}
	if c.Counting.DedupMemory != 2*GiB || c.Counting.NarrowBucket != 100_000 {
		t.Errorf("named sizes: %+v", c.Counting)
	}
	if c.Counting.Shards != preset.Counting.Shards || c.Ingest != preset.Ingest || c.Types[0].IDField != "article_id" {
		t.Errorf("fields left out must keep the preset's values: %+v", c)
	}
	want := []crest.Window{
		{Name: "5m", Length: 5 * time.Minute, Bucket: 5 * time.Second, Refresh: time.Second},
		{Name: "all", Refresh: time.Minute},
	}
	if len(c.Windows) != 2 || c.Windows[0] != want[0] || c.Windows[1] != want[1] {
		t.Errorf("windows: got %+v, want %+v", c.Windows, want)
	}
}

func TestPresetOfFlagAndFile(t *testing.T) {
	path := write(t, "preset: shares\n")
	if c, err := Load(path, "shares"); err != nil || c.Preset != "shares" {
		t.Errorf("same preset twice: %q, %v", c.Preset, err)
	}
	if _, err := Load(path, "views"); err == nil || !strings.Contains(err.Error(), "flag says") {
		t.Errorf("contradicting presets: %v", err)
	}
	if c, err := Load(write(t, "listen: ':1'\n"), "shares"); err != nil || c.Preset != "shares" {
		t.Errorf("preset of the flag alone: %q, %v", c.Preset, err)
	}
	for _, text := range []string{"", "# nothing\n", "\n\n"} {
		if c, err := Load(write(t, text), ""); err != nil || c.Preset != DefaultPreset {
			t.Errorf("file %q: %q, %v", text, c.Preset, err)
		}
	}
}

func TestBadFilesNameLineAndReason(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"unknown field", "listen: ':1'\nlitsen: ':2'\n", "line 2, column 1: unknown field"},
		{"unknown nested field", "counting:\n  shards: 4\n  shard: 3\n", "line 3, column 3"},
		{"unknown window field", "windows:\n  - name: x\n    longth: 1m\n", "line 3, column 5"},
		{"repeated field", "data: a\ndata: b\n", "line 2"},
		{"bad duration", "counting:\n  flush: 10 sec\n", `line 2: "10 sec" is not a duration`},
		{"unitless duration", "counting:\n  flush: 10\n", `line 2: "10" is not a duration`},
		{"bad size", "counting:\n  bucket: 5 apples\n", `line 2: "5 apples" is not a size`},
		{"negative size", "counting:\n  bucket: -5\n", `line 2: "-5" is not a size`},
		{"bad duration that is right elsewhere", "# 10\nlists: {max_k: 10}\ncounting:\n  bucket: 10\nwindows:\n  - name: x10\n    length: 10m\n    bucket: 10\n", `line 8: "10" is not a duration`},
		{"bad size that is right elsewhere", "windows:\n  - {name: 5m, length: 5m, bucket: 10s, refresh: 1s}\ncounting: {flush: 5m, bucket: \"5m b\", narrow_bucket: '10s'}\n", `line 3: "5m b" is not a size`},
		{"bad duration in flow style", "windows: [{name: 5m, length: 5m,\n  bucket: 1 s}]\n", `line 2: "1 s" is not a duration`},
		{"bad duration by an alias", "data: &d soon\ncounting:\n  flush: *d\n", `"soon" is not a duration`},
		{"wrong kind", "counting:\n  shards: many\n", "line 2"},
		{"not yaml", "types: [\n", "line 1"},
		{"two documents", "data: a\n---\ndata: b\n", "more than one"},
		{"unknown preset", "preset: likes\n", `is "likes"`},
		{"invalid value", "counting: {shards: 3}\n", "counting.shards: is 3; it must be a power of two"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(write(t, test.text), "")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want something with %q", err, test.want)
			}
			if test.name == "bad duration by an alias" && strings.Contains(err.Error(), "line 1") {
				t.Errorf("%v names a line where nothing is wrong", err)
			}
			if crest.CodeOf(err) == crest.CodeInternal {
				t.Errorf("%v has no code", err)
			}
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), ""); err == nil {
		t.Error("a missing file was accepted")
	}
	if _, err := Load(write(t, strings.Repeat("#\n", int(MaxFile))), ""); err == nil || !strings.Contains(err.Error(), "larger than 1MiB") {
		t.Errorf("a huge file: %v", err)
	}
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "123": 123, "64MiB": 64 * MiB, "64 mib": 64 * MiB, "1.5GiB": GiB + GiB/2, "64K": 64 * KiB, "2TiB": 2 * TiB,
		"10MB": 10e6, "10kB": 10e3, "7b": 7, "9223372036854775807": 1<<63 - 1,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1XiB", "1e30", "nan", "inf", "9223372036854775808", "9000000TiB", "1 2"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", text, got)
		}
	}
	for n, want := range map[Bytes]string{0: "0B", 1023: "1023B", KiB: "1KiB", 64 * MiB: "64MiB", 5_436_580: "5.2MiB", GiB + GiB/2: "1.5GiB", 3 * TiB: "3TiB"} {
		if got := n.String(); got != want {
			t.Errorf("%d prints as %q, want %q", int64(n), got, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("preset: views\nwindows:\n - {name: 1m, length: 1m, bucket: 10s, refresh: 10s}\n"))
	f.Add([]byte("counting: {bucket: 1.5GiB, flush: 1s}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse(data, "")
		if err == nil && c.Validate() != nil {
			t.Error("Load returned a configuration that is not valid")
		}
	})
}

// TestEveryFieldIsDocumented looks for every YAML name in docs/configuration.md.
func TestEveryFieldIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var names func(prefix string, of reflect.Type) []string
	names = func(prefix string, of reflect.Type) (all []string) {
		for f := range of.Fields() {
			name := prefix + cmp.Or(f.Tag.Get("yaml"), strings.ToLower(f.Name))
			switch {
			case f.Type.Kind() == reflect.Struct:
				all = append(all, names(name+".", f.Type)...)
			case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
				all = append(all, names(name+"[].", f.Type.Elem())...)
			default:
				all = append(all, name)
			}
		}
		return all
	}
	all := names("", reflect.TypeFor[Config]())
	if len(all) < 30 {
		t.Fatalf("found %d fields only", len(all))
	}
	for _, name := range all {
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("docs/configuration.md says nothing of %s", name)
		}
	}
}

// TestExampleOfThePageIsValid loads the YAML of docs/configuration.md.
func TestExampleOfThePageIsValid(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	c, err := Load(write(t, example), "")
	if err != nil || len(c.Windows) != 3 || c.Counting.DedupMemory != GiB {
		t.Errorf("%+v, %v", c, err)
	}
}

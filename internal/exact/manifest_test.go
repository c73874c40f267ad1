package exact

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"crest"
	"crest/internal/counts"
)

var updateGolden = flag.Bool("update", false, "write the golden files")

// goldenManifest has an hour with events, a quiet one, and totals.
func goldenManifest() *manifest {
	h := hourCount{
		Start: testHour, Cut: testHour.Add(80 * time.Minute), ID: "3a5d0c11a8b94f2e", Boards: "9b1f6c0de2a34758", Since: 5,
		Rows: 1000, Weight: 990, Duplicates: 10, LateWeight: 3, Items: 200,
	}
	info := counts.Info{Rows: 200, Bytes: 4096, Checksum: "00112233445566778899aabbccddeeff", Boards: 2}
	return &manifest{
		Since: 5, Cut: testHour.Add(140 * time.Minute), Until: testHour.Add(2 * time.Hour),
		Boards: map[string][]string{"9b1f6c0de2a34758": {"article", "article/category"}},
		Hours: []hourEntry{
			{
				hourCount: h, Checked: testHour.Add(140 * time.Minute),
				Counts: &fileEntry{hourDir(testHour) + "/counts-3a5d0c11a8b94f2e.parquet", info},
				Late:   &fileEntry{hourDir(testHour) + "/late-3a5d0c11a8b94f2e.parquet", info},
			},
			{hourCount: hourCount{Start: testHour.Add(time.Hour), Cut: testHour.Add(140 * time.Minute)}, Checked: testHour.Add(140 * time.Minute)},
		},
		Totals: []totalEntry{{
			Window: "24h", Hours: 24, From: testHour, Until: testHour.Add(2 * time.Hour), ID: "0f0e0d0c0b0a0908",
			Counts:     &fileEntry{"totals/24h-0f0e0d0c0b0a0908.parquet", info},
			Candidates: &fileEntry{"totals/24h-0f0e0d0c0b0a0908-candidates.parquet", info},
		}},
	}
}

func TestGoldenManifest(t *testing.T) {
	path := filepath.Join("testdata", "manifest-v1.json")
	want, checksum, err := goldenManifest().encode()
	if err != nil {
		t.Fatal(err)
	}
	if *updateGolden {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "file", string(got), string(want))
	m, version, err := readManifest(path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "checksum", version, checksum)
	if !reflect.DeepEqual(m, goldenManifest()) {
		t.Errorf("read: %+v", m)
	}
}

func TestManifestsThatCantBe(t *testing.T) {
	for name, spoil := range map[string]func(m *manifest){
		"an hour missing":      func(m *manifest) { m.Hours[1].Start = m.Hours[1].Start.Add(time.Hour) },
		"within an hour":       func(m *manifest) { m.Hours[0].Start++ },
		"end beyond the hours": func(m *manifest) { m.Until = m.Until.Add(time.Hour) },
		"end within an hour":   func(m *manifest) { m.Until-- },
		"a file elsewhere":     func(m *manifest) { m.Hours[0].Counts.Name = "../../etc/passwd" },
		"a file at the root":   func(m *manifest) { m.Totals[0].Counts.Name = "/etc/passwd" },
		"a window too long":    func(m *manifest) { m.Totals[0].Hours = 1 << 40 },
		"an end without hours": func(m *manifest) { m.Hours = nil },
	} {
		m := goldenManifest()
		spoil(m)
		b, _, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := decodeManifest("manifest.json", b); !isDamage(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever is in a manifest whose checksum is right, reading it ends with an error or something to rely on.
func FuzzManifest(f *testing.F) {
	content, err := json.Marshal(goldenManifest())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add([]byte(`{"until":3600000,"hours":[{}]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		b, err := json.Marshal(document{manifestFormat, hash128(content), content})
		if err != nil {
			b = content
		}
		m, _, err := decodeManifest("manifest.json", b)
		if err != nil {
			if !isDamage(err) {
				t.Error(err)
			}
			return
		}
		s := newSnapshot(Config{}, newStore(""), m, "", nil)
		s.Reach()
		s.Hour(m.Until - 1)
		m.between(0, crest.Millis(1)<<62)
		m.run()
	})
}

package list

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"crest"
)

func testCompressor(t *testing.T) *compressor {
	t.Helper()
	c, err := newCompressor()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func plainBody(t *testing.T, body []byte, encoding string) []byte {
	t.Helper()
	switch encoding {
	case "gzip":
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	case "zstd":
		d, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if body, err = d.DecodeAll(body, nil); err != nil {
			t.Fatal(err)
		}
	}
	return body
}

func TestEveryBodyIsTheSlice(t *testing.T) {
	with := testCompressor(t)
	for _, c := range []struct {
		name     string
		sizes    sizes
		entries  int
		listK    int
		stale    bool
		expected []int
	}{
		{"sizes", newSizes(1000, []int{10, 100, 1000}), 1000, 1000, false, []int{10, 100, 1000}},
		{"any k", newSizes(30, nil), 30, 30, false, []int{1, 2, 9, 10, 11, 29, 30}},
		{"few entries", newSizes(100, nil), 12, 100, true, []int{1, 11, 12, 13, 100}},
		{"no entries", newSizes(100, []int{10, 100}), 0, 100, false, []int{10, 100}},
		{"a list made for fewer", newSizes(100, []int{10, 100}), 50, 50, false, []int{10, 100}},
	} {
		l := *testList(max(c.entries, 1))
		l.K, l.Top, l.Stale = c.listK, l.Top[:c.entries], c.stale
		p := render(&l, &c.sizes, with, nil)
		tags := map[string][]byte{}
		for _, k := range c.expected {
			want := l.Slice(min(k, l.K))
			for _, encoding := range []string{"", "gzip", "zstd"} {
				body, used, etag := p.Body(k, encoding)
				if plain := plainBody(t, body, used); !bytes.Equal(plain, want.AppendJSON(nil)) {
					t.Errorf("%s, k=%d %s: got %s\nwant %s", c.name, k, encoding, plain, want.AppendJSON(nil))
				}
				if used != encoding && (used != "" || len(body) >= minCompressed) {
					t.Errorf("%s, k=%d: wanted %q, got %q for %d bytes", c.name, k, encoding, used, len(body))
				}
				if known, ok := tags[etag]; ok && !bytes.Equal(known, body) {
					t.Errorf("%s, k=%d %s: entity tag %s names two bodies", c.name, k, encoding, etag)
				}
				tags[etag] = body
				again, _, _ := p.Body(k, encoding)
				if &again[0] != &body[0] {
					t.Errorf("%s, k=%d %s: made twice", c.name, k, encoding)
				}
			}
		}
		for _, k := range []int{-1, 0, 7777} {
			if body, _, _ := p.Body(k, ""); body != nil {
				t.Errorf("%s: a body for k=%d", c.name, k)
			}
		}
	}
}

func TestEntityTagsTellVersionsApart(t *testing.T) {
	with, sz := testCompressor(t), newSizes(10, nil)
	l := testList(10)
	seen := map[string]bool{}
	for _, change := range []func(*crest.List){
		func(*crest.List) {},
		func(l *crest.List) { l.Stale = true },
		func(l *crest.List) { l.GeneratedAt++ },
		func(l *crest.List) { l.Version = "01JDX0000000000000000000AB" },
		func(l *crest.List) {
			l.Top = slices.Clone(l.Top)
			l.Top[0].PreviousRank += 7
		},
	} {
		c := *l
		change(&c)
		_, _, etag := render(&c, &sz, with, nil).Body(10, "")
		if seen[etag] || etag[0] != '"' || etag[len(etag)-1] != '"' {
			t.Errorf("entity tag %s", etag)
		}
		seen[etag] = true
	}
}

func TestFormsAreMadeForThoseWhoAsk(t *testing.T) {
	with, sz := testCompressor(t), newSizes(100, nil)
	version := func(minutes int) *crest.List {
		l := *testList(100)
		l.AsOf += crest.Millis(minutes * 60_000)
		return &l
	}
	ready := func(p *Published, k int, enc encoding) bool { return p.slots[k-1].forms[enc].Load() != nil }

	first := render(version(0), &sz, with, nil)
	for _, k := range []int{10, 50, 100} {
		for enc := range encodings {
			if !ready(first, k, enc) {
				t.Errorf("the first version has no body for k=%d, %q", k, enc)
			}
		}
	}
	if ready(first, 37, identity) {
		t.Error("a body that nobody wanted")
	}
	first.Body(37, "zstd")
	second := render(version(1), &sz, with, first)
	third := render(version(2), &sz, with, second)
	fourth := render(version(3), &sz, with, third)
	if !ready(second, 37, zstded) || !ready(third, 37, zstded) || ready(fourth, 37, zstded) {
		t.Error("a form is not made for two minutes after somebody asked for it")
	}
	if ready(second, 10, gzipped) {
		t.Error("a form that nobody asks for is made again")
	}
}

func TestManyReadersGetOneBody(t *testing.T) {
	sz := newSizes(100, nil)
	p := render(testList(100), &sz, testCompressor(t), nil)
	var readers sync.WaitGroup
	bodies := make([][]byte, 16)
	for i := range bodies {
		readers.Go(func() {
			for k := 1; k <= 100; k++ {
				bodies[i], _, _ = p.Body(k, "gzip")
			}
		})
	}
	readers.Wait()
	for _, body := range bodies {
		if &body[0] != &bodies[0][0] {
			t.Fatal("readers got copies")
		}
	}
}

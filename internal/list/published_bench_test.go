package list

import (
	"fmt"
	"testing"

	"crest"
)

func BenchmarkRender(b *testing.B) {
	with, err := newCompressor()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		sizes sizes
		k     int
	}{{"K=1000 sizes 10,100,1000", newSizes(1000, []int{10, 100, 1000}), 1000}, {"K=100 any k", newSizes(100, nil), 100}} {
		l := testList(c.k)
		quiet := render(l, &c.sizes, with, nil)
		b.Run(c.name+"/nobody asks", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				render(l, &c.sizes, with, quiet)
			}
		})
		b.Run(c.name+"/all common forms", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				render(l, &c.sizes, with, nil)
			}
		})
		for _, enc := range []encoding{gzipped, zstded} {
			body, _, _ := quiet.Body(c.k, "")
			b.Run(fmt.Sprintf("%s/%s of %d bytes", c.name, enc, len(body)), func(b *testing.B) {
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					n = len(with.compress(enc, body))
				}
				b.ReportMetric(float64(n), "bytes")
			})
		}
	}
}

// BenchmarkPublish is one refresh of the shares preset at its most: 3 windows of a type's board and 64 narrowed ones.
func BenchmarkPublish(b *testing.B) {
	s, err := Open(Config{MaxK: 100, Windows: testConfig().Windows, Now: testConfig().Now})
	if err != nil {
		b.Fatal(err)
	}
	lists := make([]crest.List, 195)
	for i := range lists {
		lists[i] = *testList(100)
		lists[i].Board = fmt.Sprintf("article/category=%d", i/3)
		lists[i].Window = testConfig().Windows[i%3].Name
	}
	s.Publish(lists)
	for _, readers := range []int{0, 20, 195} {
		b.Run(fmt.Sprintf("195 lists, %d of them read", readers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, l := range lists[:readers] {
					s.Current(l.Board, l.Window).Body(10, "gzip")
					s.Current(l.Board, l.Window).Body(100, "zstd")
				}
				s.Publish(lists)
			}
		})
	}
}

func BenchmarkMerge(b *testing.B) {
	for _, c := range []struct{ shards, k int }{{64, 1000}, {16, 100}} {
		b.Run(fmt.Sprintf("%d shards, K=%d", c.shards, c.k), func(b *testing.B) {
			reports := testReports(1, c.shards, c.k)
			p := Params{K: c.k}
			previous, err := Merge(reports, c.shards, p)
			if err != nil {
				b.Fatal(err)
			}
			p.Previous = &previous
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Merge(reports, c.shards, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package counts

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// benchRows returns rows of ascending random keys of 11 characters; the first few are the same whatever the seed.
func benchRows(n int, seed uint64) []Row {
	r := rand.New(rand.NewPCG(seed, 1))
	rows := make([]Row, n)
	step := 90_000_000_000 / uint64(n)
	for i := range rows {
		key := uint64(i) * step
		if i%3 > 0 {
			key += r.Uint64N(step)
		}
		rows[i] = Row{"video", fmt.Sprintf("%011d", key), 1 + uint64(3/(r.Float64()+1e-6)), uint64(r.IntN(20) / 19)}
	}
	return rows
}

func perSecond(b *testing.B, rows int) {
	b.Helper()
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func BenchmarkWrite(b *testing.B) {
	rows := benchRows(1_000_000, 1)
	b.ReportAllocs()
	for b.Loop() {
		writeRows(b, filepath.Join(b.TempDir(), "x"), rows)
	}
	perSecond(b, len(rows))
}

func BenchmarkScan(b *testing.B) {
	table := openRows(b, benchRows(1_000_000, 1))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		c := table.All()
		for c.Next() {
			if c.Row().Count > 0 {
				n++
			}
		}
		if n != 1_000_000 {
			b.Fatal(n)
		}
		c.Close()
	}
	perSecond(b, 1_000_000)
}

func BenchmarkLookup(b *testing.B) {
	rows := benchRows(1_000_000, 1)
	table := openRows(b, rows)
	var items []string
	for i := 0; i < len(rows); i += 200 {
		items = append(items, rows[i].Item)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := table.Lookup("video", items); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(len(items))*1e6, "us/item")
}

func BenchmarkMerge(b *testing.B) {
	for _, write := range []bool{false, true} {
		b.Run(fmt.Sprintf("write=%v", write), func(b *testing.B) {
			const files, rows = 24, 100_000
			var tables []*Table
			for i := range files {
				tables = append(tables, openRows(b, benchRows(rows, uint64(i))))
			}
			b.ReportAllocs()
			for b.Loop() {
				var inputs []Input
				for _, t := range tables {
					inputs = append(inputs, Input{Cursor: t.All()})
				}
				var w *Writer
				if write {
					var err error
					if w, err = Create(filepath.Join(b.TempDir(), "x")); err != nil {
						b.Fatal(err)
					}
				}
				top := NewTop(3000)
				err := Merge(w, inputs, func(r Row, counts []uint64) error {
					top.Add(r.Item, r.Count, counts)
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
				if write {
					if _, err := w.Close(); err != nil {
						b.Fatal(err)
					}
				}
			}
			perSecond(b, files*rows)
		})
	}
}

package rank

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"crest/internal/rows"
)

// BenchmarkRun reports the time per line of the whole way from bytes to a list, on Zipf(1.05) over 5 million items.
func BenchmarkRun(b *testing.B) {
	for _, format := range []rows.Format{rows.Text, rows.CSV, rows.NDJSON} {
		b.Run(string(format), func(b *testing.B) {
			data := zipfFile(format, 1_000_000)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				in := &rows.Input{Name: "bench", From: bytes.NewReader(data)}
				c := Config{Format: format, K: 10, Memory: 64 << 20, Workers: 2}
				stats, err := Run(context.Background(), []*rows.Input{in}, c, Observer{}, func(List) error { return nil })
				if err != nil || stats.Counted != 1_000_000 {
					b.Fatalf("counted %d, %v", stats.Counted, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/line")
		})
	}
}

func zipfFile(format rows.Format, lines int) []byte {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.05, 1, 5_000_000-1)
	var b bytes.Buffer
	if format == rows.CSV {
		b.WriteString("ts_ms,type,item,session,category,region\n")
	}
	for i := range lines {
		id := zipf.Uint64() * 2_654_435_761 % 5_000_011
		switch format {
		case rows.CSV:
			fmt.Fprintf(&b, "%d,video,v%010d,u%d,music,eu\n", 1_700_000_000_000+i, id, i%100_003)
		case rows.NDJSON:
			fmt.Fprintf(&b, `{"ts_ms":%d,"type":"video","item":"v%010d","session":"u%d","category":"music"}`+"\n", 1_700_000_000_000+i, id, i%100_003)
		default:
			fmt.Fprintf(&b, "v%010d\n", id)
		}
	}
	return b.Bytes()
}

package archive

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"crest"
)

// The columns of a file. A declared dimension is the column ColumnDimensions + "." + its name, of optional strings.
const (
	ColumnID         = "id"         // UUID, 16 bytes
	ColumnType       = "type"       // string, dictionary
	ColumnItem       = "item"       // string, as normalised
	ColumnSpelling   = "spelling"   // optional string: as received, when it differs from item
	ColumnTime       = "time"       // timestamp in ms: min(event time, received); it decides the hour
	ColumnReceived   = "received"   // timestamp in ms
	ColumnSession    = "session"    // uint64; 0 when there was none
	ColumnWeight     = "weight"     // uint32
	ColumnGenerated  = "generated"  // bool: ingest made the id, so it can't come twice
	ColumnDimensions = "dimensions" // group
)

// row is one event as Parquet has it.
type row struct {
	ID         crest.EventID `parquet:"id,uuid"`
	Type       string        `parquet:"type,dict"`
	Item       string        `parquet:"item,plain"`
	Spelling   string        `parquet:"spelling,optional,plain"`
	Time       crest.Millis  `parquet:"time,timestamp(millisecond),delta"`
	Received   crest.Millis  `parquet:"received,timestamp(millisecond),delta"`
	Session    uint64        `parquet:"session,plain"`
	Weight     uint32        `parquet:"weight,plain"`
	Generated  bool          `parquet:"generated"`
	Dimensions values        `parquet:"dimensions"`
}

// values are a row's dimension values. The schema gives them the declared names, and leaves out those without one.
type values struct {
	V0 string `parquet:"v0,optional,dict"`
	V1 string `parquet:"v1,optional,dict"`
	V2 string `parquet:"v2,optional,dict"`
	V3 string `parquet:"v3,optional,dict"`
}

// schemaOptions name the dimension columns of rows.
func schemaOptions(dimensions []string) []parquet.SchemaOption {
	var options []parquet.SchemaOption
	replace := func(tag string, path ...string) {
		options = append(options, parquet.StructTag(reflect.StructTag(fmt.Sprintf("parquet:%q", tag)), path...))
	}
	if len(dimensions) == 0 {
		replace("-", "Dimensions")
		return options
	}
	for i := range crest.MaxDimensions {
		tag := "-"
		if i < len(dimensions) {
			tag = dimensions[i] + ",optional,dict"
		}
		replace(tag, ColumnDimensions, fmt.Sprintf("V%d", i))
	}
	return options
}

// rowGroupRows is how many rows a row group has at most. A file's writer holds one compressed in memory.
const rowGroupRows = 1 << 20

func newParquetWriter(to io.Writer, dimensions []string) *parquet.GenericWriter[row] {
	options := []parquet.WriterOption{
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.MaxRowsPerRowGroup(rowGroupRows),
		parquet.DataPageStatistics(false), // the page index has them; making them twice takes a tenth of the time
		parquet.CreatedBy("crest", "1", ""),
	}
	for _, o := range schemaOptions(dimensions) {
		options = append(options, o)
	}
	return parquet.NewGenericWriter[row](to, options...)
}

func newParquetReader(file *parquet.File, dimensions []string) *parquet.GenericReader[row] {
	var options []parquet.ReaderOption
	for _, o := range schemaOptions(dimensions) {
		options = append(options, o)
	}
	return parquet.NewGenericReader[row](file, options...)
}

func checkDimensions(names []string) error {
	if len(names) > crest.MaxDimensions {
		return fmt.Errorf("%d dimensions are too many; at most %d are possible", len(names), crest.MaxDimensions)
	}
	seen := map[string]bool{}
	for _, n := range names {
		if err := crest.CheckName("dimension", n, crest.MaxDimensionBytes); err != nil {
			return err
		}
		if strings.ContainsAny(n, ",.`\"") || n == "-" {
			return fmt.Errorf("dimension %q can't be the name of a column: it has a comma, a dot or a quote", n)
		}
		if seen[n] {
			return errors.New("dimension " + n + " is declared twice")
		}
		seen[n] = true
	}
	return nil
}

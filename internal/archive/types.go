package archive

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"crest"
)

// Types returns the types of a file's events, in order. It verifies the file: the library would allocate whatever damaged bytes say.
func (v *View) Types(hour crest.Millis, f File) (types []string, err error) {
	p, closer, err := v.OpenFile(hour, f)
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	defer func() {
		if r := recover(); r != nil { // of the library, on bytes that are not what they should be
			types, err = nil, &CorruptError{v.Path(hour, f), fmt.Sprint(r)}
		}
	}()
	column, ok := p.Schema().Lookup(ColumnType)
	if !ok {
		return nil, &CorruptError{v.Path(hour, f), "it has no column " + ColumnType}
	}
	for _, group := range p.RowGroups() {
		if types, err = appendTypes(types, group.ColumnChunks()[column.ColumnIndex]); err != nil {
			return nil, &CorruptError{v.Path(hour, f), err.Error()}
		}
	}
	slices.Sort(types)
	return slices.Compact(types), nil
}

// mostFileTypes bounds what is read of a dictionary.
const mostFileTypes = 1 << 16

func appendTypes(types []string, chunk parquet.ColumnChunk) ([]string, error) {
	pages := chunk.Pages()
	defer pages.Close()
	page, err := pages.ReadPage()
	if errors.Is(err, io.EOF) {
		return types, nil
	}
	if err != nil {
		return nil, err
	}
	defer parquet.Release(page)
	d := page.Dictionary()
	if d == nil || d.Len() > mostFileTypes {
		return nil, errors.New("its types are not in a dictionary of a sensible size")
	}
	for i := range d.Len() {
		types = append(types, d.Index(int32(i)).String())
	}
	return types, nil
}

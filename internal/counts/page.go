package counts

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

// maxPageBytes bounds a page, compressed or not. The texts of a page of the longest items fit twice.
const maxPageBytes = 2*pageRows*(MaxItemBytes+8) + 4096

// pageReader reads pages, of which it holds one. It is for one goroutine; a sheet keeps those that are not in use.
type pageReader struct {
	sheet *sheet
	ahead int // bytes to read from each column at once, for reading page after page

	n       int     // rows of the page
	a, b    []int64 // the numbers
	texts   []byte  // the items, one after another
	offsets []uint32

	windows [sheetColumns]window
	plain   []byte
	zstd    *zstd.Decoder
	items   delta.ByteArrayEncoding
	numbers delta.BinaryPackedEncoding
	header  format.PageHeader
}

// window is a piece of the file.
type window struct {
	offset int64
	data   []byte
}

// reader returns a page reader, which the caller gives back.
func (s *sheet) reader(ahead int) (*pageReader, error) {
	r, _ := s.readers.Get().(*pageReader)
	if r == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxPageBytes))
		if err != nil {
			return nil, err
		}
		r = &pageReader{sheet: s, zstd: d}
	}
	r.ahead = ahead
	return r, nil
}

func (s *sheet) giveBack(r *pageReader) { s.readers.Put(r) }

// read loads a page: items and numbers.
func (r *pageReader) read(page int) error {
	if err := r.readItems(page); err != nil {
		return err
	}
	return r.readNumbers(page)
}

// readItems loads the items of a page.
func (r *pageReader) readItems(page int) error {
	return r.decode(page, columnItem, func(body []byte) (err error) {
		r.texts, r.offsets, err = r.items.DecodeByteArray(r.texts[:0], body, r.offsets[:0])
		if err == nil && len(r.offsets) != r.n+1 {
			err = fmt.Errorf("%d items, not %d", len(r.offsets)-1, r.n)
		}
		return err
	})
}

// readNumbers loads the numbers of a page.
func (r *pageReader) readNumbers(page int) (err error) {
	if r.a, err = r.readColumn(page, columnA, r.a); err != nil {
		return err
	}
	r.b, err = r.readColumn(page, columnB, r.b)
	return err
}

func (r *pageReader) readColumn(page, column int, dst []int64) ([]int64, error) {
	err := r.decode(page, column, func(body []byte) (err error) {
		if dst, err = r.numbers.DecodeInt64(dst[:0], body); err != nil {
			return err
		}
		if len(dst) != r.n {
			return fmt.Errorf("%d numbers, not %d", len(dst), r.n)
		}
		for _, v := range dst {
			if v < 0 {
				return fmt.Errorf("a number below 0")
			}
		}
		return nil
	})
	return dst, err
}

// decode reads a column's page and hands on its body, decompressed.
func (r *pageReader) decode(page, column int, f func(body []byte) error) error {
	g, err := r.sheet.group(page / groupPages)
	if err != nil {
		return err
	}
	r.n = int(min(r.sheet.rows-int64(page)*pageRows, pageRows))
	err = guard(func() error {
		raw, err := r.bytes(g, column, page%groupPages)
		if err != nil {
			return err
		}
		body, err := r.body(raw, column)
		if err != nil {
			return err
		}
		return f(body)
	})
	return r.sheet.wrap(fmt.Sprintf("page %d of column %d", page, column), err)
}

// bytes returns a column's page as it is in the file.
func (r *pageReader) bytes(g *group, column, page int) ([]byte, error) {
	w, at := &r.windows[column], g.where[column][page]
	begin := at.offset - w.offset
	if begin >= 0 && begin+int64(at.bytes) <= int64(len(w.data)) {
		return w.data[begin:][:at.bytes], nil
	}
	last := g.where[column][g.pages-1]
	n := max(int(at.bytes), int(min(int64(r.ahead), last.offset+int64(last.bytes)-at.offset)))
	if cap(w.data) < n {
		w.data = make([]byte, n)
	}
	w.data, w.offset = w.data[:n], at.offset
	if _, err := r.sheet.ReadAt(w.data, at.offset); err != nil {
		w.data = w.data[:0]
		return nil, err
	}
	return w.data[:at.bytes], nil
}

// body checks a page's header and checksum and decompresses it.
func (r *pageReader) body(raw []byte, column int) ([]byte, error) {
	want := format.DeltaBinaryPacked
	if column == columnItem {
		want = format.DeltaByteArray
	}
	r.header = format.PageHeader{}
	n, err := decodeThrift(raw, &r.header)
	if err != nil {
		return nil, err
	}
	raw = raw[n:]
	h := &r.header
	v2 := &h.DataPageHeaderV2.V
	if h.Type != format.DataPageV2 || !h.DataPageHeaderV2.Valid || int(h.CompressedPageSize) != len(raw) ||
		int(v2.NumValues) != r.n || int(v2.NumRows) != r.n || v2.NumNulls != 0 || v2.Encoding != want ||
		v2.DefinitionLevelsByteLength != 0 || v2.RepetitionLevelsByteLength != 0 ||
		h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPageBytes {
		return nil, errors.New("its header is not what it should be")
	}
	if crc32.ChecksumIEEE(raw) != uint32(h.CRC) {
		return nil, errors.New("its checksum is wrong")
	}
	r.plain, err = r.zstd.DecodeAll(raw, r.plain[:0])
	if err == nil && len(r.plain) != int(h.UncompressedPageSize) {
		err = fmt.Errorf("%d bytes, not %d", len(r.plain), h.UncompressedPageSize)
	}
	return r.plain, err
}

package archive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
	"github.com/zeebo/xxh3"

	"crest"
)

// rebuild makes a manifest from the files that it should list. One that can't be read is listed without a checksum, so that
// readers are told that it is damaged; and where there is none, the manifest says that the hour's rows are lost.
func (w *Writer) rebuild(hour crest.Millis, state State, why string) error {
	dir := hourDir(w.cfg.Dir, hour)
	names, err := parquetNames(dir)
	if err != nil {
		return err
	}
	m := manifest{Hour: hour, Now: listing{State: state}}
	for _, name := range names {
		number := 0
		if _, err := fmt.Sscanf(name, "%d"+parquetSuffix, &number); err != nil || fileName(number) != name {
			continue
		}
		f, err := factsOf(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		f.Name = name
		m.Now.Files = append(m.Now.Files, f)
		m.Next = number + 1
	}
	m.Before = m.Now
	done := "it was made again from the hour's files"
	if len(m.Now.Files) == 0 {
		m.Lost = "it was damaged or missing, and so were all files of the hour"
		done = m.Lost
	}
	path := filepath.Join(dir, manifestName)
	w.repaired(path, why+"; "+done)
	return writeDocument(w.storage, path, m)
}

// factsOf reads a whole file for what a manifest says of it.
func factsOf(path string) (f File, err error) {
	h, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer h.Close()
	sum := xxh3.New()
	if f.Bytes, err = io.Copy(sum, h); err != nil {
		return File{}, err
	}
	if scan(h, &f) == nil {
		f.Checksum = checksumText(sum.Sum128())
	}
	return f, nil
}

// scan reads all rows of a file, checking its pages' checksums, and notes their facts.
func scan(h *os.File, f *File) (err error) {
	defer func() {
		if r := recover(); r != nil { // the library's, on bytes that are not what they should be
			err = &CorruptError{Path: h.Name(), Reason: fmt.Sprint(r)}
		}
	}()
	p, err := parquet.OpenFile(h, f.Bytes, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	r := parquet.NewGenericReader[row](p)
	defer r.Close()
	rows := make([]row, blockRows)
	for {
		n, err := r.Read(rows)
		for i := range rows[:n] {
			if f.Rows == 0 {
				f.Received = Span{rows[i].Received, rows[i].Received}
				f.Time = Span{rows[i].Time, rows[i].Time}
			}
			f.Rows++
			f.Received.Last = rows[i].Received
			f.Time.add(rows[i].Time)
			f.Weight += uint64(rows[i].Weight)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

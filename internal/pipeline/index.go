package pipeline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strings"

	"crest"
	"crest/internal/config"
	"crest/internal/eventlog"
	"crest/internal/shard"
	"crest/window"
)

// fileMagic begins and ends a checkpoint file; its last character is the version.
const fileMagic = "CRESTCK1"

// maxIndex bounds the index of a checkpoint, so that a damaged length can't make a reader allocate.
const maxIndex = 256 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant table

var errIndex = errors.New("damaged checkpoint index")

// checkpointIndex is the last part of a checkpoint file.
type checkpointIndex struct {
	layout    string // its fingerprint
	offset    eventlog.Offset
	since     crest.Millis
	watermark crest.Millis
	boards    []crest.Board // narrowed ones, in the order of their numbers
	marks     []mark
	newest    map[blobKey]int64 // of each ring that has moved; number is 0 in the keys
	blobs     map[blobKey]blobRef
}

// layoutFingerprint spells out the settings that saved buckets depend on, a line each. A setting that comes later gets a
// line only when it is used, so that it doesn't make older checkpoints unreadable.
func layoutFingerprint(c *config.Config, l *shard.Layout) string {
	lines := []string{
		fmt.Sprintf("shards %d", l.Shards), fmt.Sprintf("partitions %d", c.Counting.Partitions),
		fmt.Sprintf("dimensions %q", l.Dimensions),
	}
	for _, t := range l.Types {
		lines = append(lines, fmt.Sprintf("type %q, boards %v, normalizer %q", t.Name, t.Narrow, t.Normalizer))
	}
	for i, rings := range [][]window.Config{l.Rings, l.NarrowRings} {
		for _, r := range rings {
			of := [...]string{"bucket", "narrow_bucket"}[i]
			line := fmt.Sprintf("windows of %v buckets of %s, %s %d bytes a shard", r.Windows, r.Width, of, r.Memory)
			if r.Late {
				line += ", with an archive"
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(append(lines, fmt.Sprintf("spellings %d bytes a shard", l.SpellMemory)), "\n")
}

// encodeIndex describes the counting state whose buckets are in blobs.
func (p *Pipeline) encodeIndex(blobs map[blobKey]blobRef) []byte {
	var w indexWriter
	w.text(layoutFingerprint(p.config, p.layout))
	w.number(int64(p.offset))
	w.number(int64(p.since))
	w.number(int64(p.watermark))
	narrowed := p.boards.Narrowed()
	w.number(int64(len(narrowed)))
	for _, b := range narrowed {
		w.text(b.Type)
		w.number(int64(len(b.Narrow)))
		for _, n := range b.Narrow {
			w.text(n.Dimension)
			w.text(n.Value)
		}
	}
	w.number(int64(len(p.marks.list)))
	for _, m := range p.marks.list {
		w.number(int64(m.received))
		w.number(int64(m.offset))
	}
	newest := p.newest()
	w.number(int64(len(newest)))
	for key, n := range newest {
		w.key(key)
		w.number(n)
	}
	w.number(int64(len(blobs)))
	for key, ref := range blobs {
		w.key(key)
		w.number(key.number)
		w.number(int64(ref.file))
		w.number(int64(ref.offset))
		w.number(int64(ref.length))
		w.number(int64(ref.crc))
	}
	return w.data
}

// newest returns where each ring stands.
func (p *Pipeline) newest() map[blobKey]int64 {
	newest := map[blobKey]int64{}
	for i, s := range p.shards {
		for board := range p.boards.Len() {
			rings, err := s.Rings(board)
			if err != nil {
				continue // it has been made before, so this can't happen
			}
			for r, ring := range rings {
				if n, ok := ring.Newest(); ok {
					newest[blobKey{i, board, r, 0}] = n
				}
			}
		}
	}
	return newest
}

// readIndex reads and checks the index of one checkpoint file.
func readIndex(dir string, seq uint64) (*checkpointIndex, error) {
	f, err := os.Open(checkpointPath(dir, seq))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var tail [8 + len(fileMagic)]byte
	end := info.Size() - int64(len(tail))
	if end < int64(len(fileMagic)) {
		return nil, fmt.Errorf("%w: the file is too short", errIndex)
	}
	if _, err := f.ReadAt(tail[:], end); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if string(tail[8:]) != fileMagic || length > min(maxIndex, end-int64(len(fileMagic))) {
		return nil, fmt.Errorf("%w: the file does not end as it should", errIndex)
	}
	data := make([]byte, length)
	if _, err := f.ReadAt(data, end-length); err != nil {
		return nil, err
	}
	if crc32.Checksum(data, castagnoli) != binary.LittleEndian.Uint32(tail[4:]) {
		return nil, fmt.Errorf("%w: its checksum is wrong", errIndex)
	}
	return decodeIndex(data)
}

func decodeIndex(data []byte) (*checkpointIndex, error) {
	r := indexReader{data: data}
	x := &checkpointIndex{newest: map[blobKey]int64{}, blobs: map[blobKey]blobRef{}}
	x.layout = r.text()
	x.offset = eventlog.Offset(r.number())
	x.since = crest.Millis(r.number())
	x.watermark = crest.Millis(r.number())
	for range r.count() {
		b := crest.Board{Type: r.text()}
		for range r.count() {
			b.Narrow = append(b.Narrow, crest.Narrowing{Dimension: r.text(), Value: r.text()})
		}
		x.boards = append(x.boards, b)
	}
	for range r.count() {
		x.marks = append(x.marks, mark{crest.Millis(r.number()), eventlog.Offset(r.number())})
	}
	for range r.count() {
		key := r.key()
		x.newest[key] = r.number()
	}
	for range r.count() {
		key := r.key()
		key.number = r.number()
		x.blobs[key] = blobRef{
			file: uint64(r.number()), offset: uint64(r.number()), length: uint64(r.number()),
			crc: uint32(r.number()),
		}
	}
	if r.failed || len(r.data) > 0 {
		return nil, errIndex
	}
	return x, nil
}

// maxBlob bounds one saved bucket; a summary has at most 1 GiB.
const maxBlob = 2 << 30

// readBlob reads and checks one saved bucket.
func readBlob(f *os.File, ref blobRef) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := uint64(info.Size())
	if ref.length > maxBlob || ref.offset > size || ref.length > size-ref.offset {
		return nil, fmt.Errorf("%w: a bucket outside its file", errIndex)
	}
	data := make([]byte, ref.length)
	if _, err := f.ReadAt(data, int64(ref.offset)); err != nil {
		return nil, err
	}
	if crc32.Checksum(data, castagnoli) != ref.crc {
		return nil, fmt.Errorf("%s: the checksum of the bucket at %d is wrong", f.Name(), ref.offset)
	}
	return data, nil
}

// indexWriter writes varints and texts.
type indexWriter struct{ data []byte }

func (w *indexWriter) number(n int64) { w.data = binary.AppendVarint(w.data, n) }

func (w *indexWriter) text(s string) {
	w.number(int64(len(s)))
	w.data = append(w.data, s...)
}

func (w *indexWriter) key(k blobKey) {
	w.number(int64(k.shard))
	w.number(int64(k.board))
	w.number(int64(k.ring))
}

// indexReader reads what an indexWriter wrote. After the first failure it returns zeros.
type indexReader struct {
	data   []byte
	failed bool
}

func (r *indexReader) number() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.failed, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

// count reads how many things follow. Each takes at least a byte.
func (r *indexReader) count() int {
	n := r.number()
	if n < 0 || n > int64(len(r.data)) {
		r.failed, r.data = true, nil
		return 0
	}
	return int(n)
}

func (r *indexReader) text() string {
	n := r.count()
	s := string(r.data[:n])
	r.data = r.data[n:]
	return s
}

func (r *indexReader) key() blobKey {
	return blobKey{shard: int(r.number()), board: int(r.number()), ring: int(r.number())}
}

package pipeline

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"crest/internal/eventlog"
)

// A checkpoint is one file: the buckets that changed since the one before, then an index of all buckets, which points
// into older files for the rest. It is written aside, synced and renamed, so it is there whole or not at all; the log
// offset in it belongs to exactly these buckets. docs/formats/checkpoint.md draws it.

// blobKey names a saved bucket.
type blobKey struct {
	shard, board, ring int
	number             int64
}

// blobRef says where a saved bucket is.
type blobRef struct {
	file   uint64
	offset uint64
	length uint64
	crc    uint32
}

// savedState is what the newest checkpoint holds.
type savedState struct {
	seq   uint64
	blobs map[blobKey]blobRef
	all   bool // write every bucket the next time, since the last write failed
}

// snapshot is a checkpoint on its way to disk.
type snapshot struct {
	seq    uint64
	data   [][]byte        // the file
	live   map[uint64]bool // the files that it points into, itself included
	needed eventlog.Offset // where a restart from it would begin to read
}

const (
	// maxFiles bounds the files that a checkpoint points into. Above it, the buckets of the oldest are written anew.
	maxFiles = 32

	checkpointSuffix = ".checkpoint"
)

// checkpoint saves what has changed. While the one before is still being written, it leaves it for the next time.
func (p *Pipeline) checkpoint() error {
	if p.options.Checkpoint == "" || !p.saveEnded(false) {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.startSave()
}

// saveEnded takes note of how the last write went, waiting for it if told to, and reports whether none is under way. What
// a failed one was to hold counts as changed again.
func (p *Pipeline) saveEnded(wait bool) bool {
	if !p.saving {
		return true
	}
	var err error
	if wait {
		err = <-p.saveDone
	} else {
		select {
		case err = <-p.saveDone:
		default:
			return false
		}
	}
	p.saving = false
	p.saved.all = p.saved.all || err != nil
	return true
}

// startSave hands the counting state to the goroutine that writes it. The aggregators must have been flushed.
func (p *Pipeline) startSave() error {
	s, err := p.snapshot()
	if err != nil {
		return err
	}
	p.saving = true
	p.save <- s
	return nil
}

// snapshot encodes the counting state. The aggregators must have been flushed.
func (p *Pipeline) snapshot() (snapshot, error) {
	seq := p.saved.seq + 1
	rewrite := p.filesToRewrite()
	type part struct {
		data  []byte
		blobs map[blobKey]blobRef
	}
	parts := make([]part, len(p.shards))
	err := p.parallel(len(p.shards), func(i int) error {
		parts[i].blobs = map[blobKey]blobRef{}
		for board := range p.boards.Len() {
			rings, err := p.shards[i].Rings(board)
			if err != nil {
				return err
			}
			for r, ring := range rings {
				for number, changed := range ring.Buckets() {
					key := blobKey{i, board, r, number}
					ref, ok := p.saved.blobs[key]
					if ok && !changed && !p.saved.all && !rewrite[ref.file] {
						parts[i].blobs[key] = ref
						continue
					}
					start := len(parts[i].data)
					if parts[i].data, err = ring.AppendBucket(parts[i].data, number); err != nil {
						return err
					}
					blob := parts[i].data[start:]
					parts[i].blobs[key] = blobRef{seq, uint64(start), uint64(len(blob)), crc32.Checksum(blob, castagnoli)}
				}
			}
		}
		return nil
	})
	if err != nil {
		return snapshot{}, err
	}
	s := snapshot{seq: seq, live: map[uint64]bool{seq: true}, needed: min(p.offset, p.marks.start(p.watermark))}
	blobs := map[blobKey]blobRef{}
	offset := uint64(len(fileMagic))
	s.data = append(s.data, []byte(fileMagic))
	for _, part := range parts {
		for key, ref := range part.blobs {
			if ref.file == seq {
				ref.offset += offset
			}
			blobs[key] = ref
			s.live[ref.file] = true
		}
		offset += uint64(len(part.data))
		s.data = append(s.data, part.data)
	}
	p.saved = savedState{seq: seq, blobs: blobs}
	index := p.encodeIndex(blobs)
	if len(index) > maxIndex {
		return snapshot{}, fmt.Errorf("a checkpoint of %d buckets can't be read back; keep fewer boards (counting.max_boards)", len(blobs))
	}
	tail := binary.LittleEndian.AppendUint32(nil, uint32(len(index)))
	tail = binary.LittleEndian.AppendUint32(tail, crc32.Checksum(index, castagnoli))
	s.data = append(s.data, index, append(tail, fileMagic...))
	return s, nil
}

// filesToRewrite names the oldest files when there are too many.
func (p *Pipeline) filesToRewrite() map[uint64]bool {
	live := map[uint64]bool{}
	for _, ref := range p.saved.blobs {
		live[ref.file] = true
	}
	files := slices.Sorted(maps.Keys(live))
	rewrite := map[uint64]bool{}
	for _, f := range files[:max(0, len(files)-maxFiles)] {
		rewrite[f] = true
	}
	return rewrite
}

// saveCheckpoints writes snapshots, one after the other, until no more come.
func (p *Pipeline) saveCheckpoints() {
	for s := range p.save {
		began := p.options.Now()
		n := 0
		for _, d := range s.data {
			n += len(d)
		}
		err := writeCheckpoint(p.options.Checkpoint, s)
		p.saveDone <- err
		if err == nil {
			p.needed.Store(int64(s.needed))
			err = removeUnused(p.options.Checkpoint, s)
		}
		if p.options.Observer.Checkpointed != nil {
			p.options.Observer.Checkpointed(n, len(s.live), p.options.Now().Sub(began), err)
		}
	}
}

func checkpointPath(dir string, seq uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%016x%s", seq, checkpointSuffix))
}

func writeCheckpoint(dir string, s snapshot) error {
	path := checkpointPath(dir, s.seq)
	f, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write a checkpoint: %w", err)
	}
	for _, d := range s.data {
		if _, err = f.Write(d); err != nil {
			break
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = cmp.Or(err, f.Close()); err != nil {
		return fmt.Errorf("write a checkpoint: %w", errors.Join(err, os.Remove(path+".tmp")))
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("write a checkpoint: %w", err)
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// removeUnused deletes the files that neither the newest checkpoint nor the one before points into.
func removeUnused(dir string, newest snapshot) error {
	keep := maps.Clone(newest.live)
	seqs, err := checkpoints(dir)
	if err != nil {
		return err
	}
	if i := slices.Index(seqs, newest.seq); i > 0 {
		before, err := readIndex(dir, seqs[i-1])
		if err == nil {
			keep[seqs[i-1]] = true
			for _, ref := range before.blobs {
				keep[ref.file] = true
			}
		}
	}
	for _, seq := range seqs {
		if !keep[seq] && seq < newest.seq {
			err = errors.Join(err, os.Remove(checkpointPath(dir, seq)))
		}
	}
	return err
}

// checkpoints lists the checkpoint files, oldest first.
func checkpoints(dir string) ([]uint64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var seqs []uint64
	for _, e := range entries {
		var seq uint64
		if n, err := fmt.Sscanf(e.Name(), "%016x"+checkpointSuffix, &seq); err == nil && n == 1 && e.Name() == filepath.Base(checkpointPath("", seq)) {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	return seqs, nil
}

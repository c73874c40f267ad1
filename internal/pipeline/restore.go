package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"crest"
	"crest/internal/eventlog"
)

// restore goes on from the newest checkpoint that is whole. Without one, counting begins at the oldest record.
func (p *Pipeline) restore() error {
	began := p.options.Now()
	dir := p.options.Checkpoint
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	seqs, err := checkpoints(dir)
	if err != nil {
		return err
	}
	for _, seq := range slices.Backward(seqs) {
		index, err := readIndex(dir, seq)
		if err == nil {
			if err := p.sameLayout(index); err != nil {
				return err
			}
			err = p.load(index)
		}
		if err != nil {
			p.noteSkipped(fmt.Errorf("checkpoint %s: %w; trying an older one", checkpointPath(dir, seq), err))
			p.reset()
			p.saved.seq = seqs[len(seqs)-1]
			continue
		}
		p.saved = savedState{seq: seqs[len(seqs)-1], blobs: index.blobs}
		if p.options.Observer.Restored != nil {
			p.options.Observer.Restored(p.watermark, p.options.Now().Sub(began))
		}
		return nil
	}
	return nil
}

// sameLayout refuses a state that was counted under other settings: its buckets would mean something else.
func (p *Pipeline) sameLayout(index *checkpointIndex) error {
	if want := layoutFingerprint(p.layout); !bytes.Equal(index.layout, want) {
		return crest.Errorf(crest.CodeOutOfRange, "counting",
			"%s was made with other types, windows, shards or bucket sizes; use the old settings, another data directory, "+
				"or delete it to count again what the log still holds", p.options.Checkpoint)
	}
	return nil
}

// load fills the shards from the blobs that an index points at.
func (p *Pipeline) load(index *checkpointIndex) error {
	for _, b := range index.boards {
		if p.boards.Admit(b) < 0 {
			return fmt.Errorf("board %s has no place", b)
		}
	}
	files := map[uint64]*os.File{}
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	perRing := map[blobKey]map[int64]blobRef{} // number is 0 in these keys
	for key, ref := range index.blobs {
		if _, ok := files[ref.file]; !ok {
			f, err := os.Open(checkpointPath(p.options.Checkpoint, ref.file))
			if err != nil {
				return err
			}
			files[ref.file] = f
		}
		ring := blobKey{key.shard, key.board, key.ring, 0}
		if perRing[ring] == nil {
			perRing[ring] = map[int64]blobRef{}
		}
		perRing[ring][key.number] = ref
	}
	err := parallel(len(p.shards), func(i int) error { return p.loadShard(i, index, perRing, files) })
	if err != nil {
		return err
	}
	p.offset, p.since, p.watermark = index.offset, index.since, index.watermark
	p.marks.list = index.marks
	p.needed.Store(int64(min(p.offset, p.marks.start(p.watermark))))
	p.planFrom(p.watermark)
	return nil
}

func (p *Pipeline) loadShard(i int, index *checkpointIndex, perRing map[blobKey]map[int64]blobRef, files map[uint64]*os.File) error {
	for board := range p.boards.Len() {
		rings, err := p.shards[i].Rings(board)
		if err != nil {
			return err
		}
		for r, ring := range rings {
			newest, ok := index.newest[blobKey{i, board, r, 0}]
			if !ok {
				continue
			}
			refs := perRing[blobKey{i, board, r, 0}]
			var readErr error
			err := ring.Restore(newest, func(yield func(int64, []byte) bool) {
				for number, ref := range refs {
					data, err := readBlob(files[ref.file], ref)
					if err != nil {
						readErr = fmt.Errorf("shard %d, board %d, bucket %d: %w", i, board, number, err)
						return
					}
					if !yield(number, data) {
						return
					}
				}
			})
			if err := cmp.Or(readErr, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// recallIDs reads the ids of the dedup horizon before the offset again, so that an event which was counted before the
// restart is known when it comes again after it.
func (p *Pipeline) recallIDs(ctx context.Context) error {
	from := p.marks.start(p.watermark)
	if p.offset == 0 || from >= p.offset || p.layout.Horizon == 0 {
		return nil
	}
	reader, err := p.options.Log.NewReader(from)
	if err != nil {
		p.noteSkipped(fmt.Errorf("recall the ids of the last %s: %w", p.layout.Horizon, err))
		return nil
	}
	defer func() { _ = reader.Close() }()
	for ctx.Err() == nil {
		batch, err := reader.Read(ctx, time.Millisecond)
		if err != nil || len(batch.Records) == 0 {
			return nil
		}
		p.recall(batch.Records)
		if batch.Next >= p.offset {
			return nil
		}
	}
	return nil
}

func (p *Pipeline) recall(records []eventlog.Record) {
	var ev crest.Event
	for _, r := range records {
		if r.Next > p.offset {
			return
		}
		part := p.parts[r.Partition%len(p.parts)]
		if part.decoder.Reset(r.Payload) != nil {
			continue
		}
		for part.decoder.Next(&ev) {
			if !ev.Generated {
				part.aggregator.Remember(ev.ID, r.Received)
			}
		}
	}
}

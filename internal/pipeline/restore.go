package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"crest"
	"crest/internal/eventlog"
	"crest/window"
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
			if err := p.mayRead(index); err != nil {
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

// mayRead refuses a state that was counted under other settings: its buckets would mean something else.
func (p *Pipeline) mayRead(index *checkpointIndex) error {
	if n := len(index.boards); n > p.layout.MaxBoards {
		return crest.Errorf(crest.CodeOutOfRange, "counting.max_boards",
			"is %d, but %s has %d narrowed boards already; set it to at least that", p.layout.MaxBoards, p.options.Checkpoint, n)
	}
	if was, is := differs(index.layout, layoutFingerprint(p.config, p.layout)); was != is {
		return crest.Errorf(crest.CodeOutOfRange, "counting",
			"%s was made with %s, now it is %s; use the old settings or another data directory, "+
				"or delete that directory to count again what the log still holds", p.options.Checkpoint, orNone(was), orNone(is))
	}
	return nil
}

// differs returns the first settings that two fingerprints do not share.
func differs(a, b string) (string, string) {
	was, is := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(was), len(is)) {
		var x, y string
		if i < len(was) {
			x = was[i]
		}
		if i < len(is) {
			y = is[i]
		}
		if x != y {
			return x, y
		}
	}
	return "", ""
}

func orNone(setting string) string {
	if setting == "" {
		return "without"
	}
	return setting
}

// load fills the shards from the blobs that an index points at.
func (p *Pipeline) load(index *checkpointIndex) error {
	for _, b := range index.boards {
		p.boards.Admit(b)
	}
	p.turnBack(index)
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
	err := p.parallel(len(p.shards), func(i int) error { return p.loadShard(i, index, perRing, files) })
	if err != nil {
		return err
	}
	p.offset, p.since, p.watermark = index.offset, index.since, index.watermark
	p.marks.list = index.marks
	p.needed.Store(int64(min(p.offset, p.marks.start(p.watermark))))
	p.planFrom(p.watermark)
	return nil
}

// turnBack puts a state right that was saved while the clock was ahead. When the log's own time is before the saved
// watermark, nothing was received in between, so the rings can stand where that time is. What they had let go of by then
// is missing, so counting begins there as far as lists are concerned.
func (p *Pipeline) turnBack(index *checkpointIndex) {
	now, ok := p.logTime(index.offset)
	if !ok || now >= index.watermark {
		return
	}
	p.noteSkipped(fmt.Errorf("the counting state is of %s, the log's time is %s: the clock was ahead; counting goes on from the log's time",
		index.watermark.Time().Format(time.RFC3339), now.Time().Format(time.RFC3339)))
	index.watermark, index.since = now, now
	last := map[blobKey]int64{}
	for key := range index.blobs {
		ring := blobKey{key.shard, key.board, key.ring, 0}
		if n, ok := last[ring]; !ok || key.number > n {
			last[ring] = key.number
		}
	}
	for ring, newest := range index.newest {
		at := p.ringConfig(ring).Number(now - 1)
		if n, ok := last[ring]; ok {
			at = max(at, n)
		}
		index.newest[ring] = min(newest, at)
	}
}

// logTime returns the time of the log at an offset: when what comes next was, or will be at the earliest, received.
func (p *Pipeline) logTime(offset eventlog.Offset) (crest.Millis, bool) {
	if p.options.Log == nil {
		return 0, false
	}
	reader, err := p.options.Log.NewReader(offset)
	if err != nil {
		return 0, false
	}
	defer func() { _ = reader.Close() }()
	batch, err := reader.Read(context.Background(), 0)
	if err != nil {
		return 0, false
	}
	if len(batch.Records) > 0 {
		return batch.Records[0].Received, true
	}
	return batch.Watermark, true
}

// ringConfig returns what the ring of a key is made with. Spellings have one bucket that never ends.
func (p *Pipeline) ringConfig(key blobKey) window.Config {
	if key.ring < len(p.layout.Rings) && !p.boards.Board(key.board).Spells() {
		return p.layout.Rings[key.ring]
	}
	return window.Config{}
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
// restart is known when it comes again after it. Ids that can't be read make the next lists say so.
func (p *Pipeline) recallIDs(ctx context.Context) {
	from := p.marks.start(p.watermark)
	if p.layout.Horizon == 0 {
		return
	}
	for from < p.offset && ctx.Err() == nil {
		next, err := p.recallFrom(ctx, from)
		if err == nil || ctx.Err() != nil {
			return
		}
		p.noteSkipped(fmt.Errorf("recall the ids of the last %s: %w", p.layout.Horizon, err))
		p.partialUntil = p.watermark.Add(p.layout.Horizon)
		if next <= from {
			return
		}
		from = next
	}
}

// recallFrom recalls from an offset on. With an error comes the offset at which recalling can go on, if it can.
func (p *Pipeline) recallFrom(ctx context.Context, from eventlog.Offset) (eventlog.Offset, error) {
	reader, err := p.options.Log.NewReader(from)
	if err != nil {
		return afterGap(err), err
	}
	defer func() { _ = reader.Close() }()
	for from < p.offset {
		batch, err := reader.Read(ctx, 0)
		if err != nil {
			return afterGap(err), err
		}
		if len(batch.Records) == 0 {
			return 0, fmt.Errorf("the log ends at %d, before what was counted at %d", batch.Next, p.offset)
		}
		p.recall(batch.Records)
		from = batch.Next
	}
	return from, nil
}

// afterGap returns where reading can go on after an error that tells of lost records, otherwise 0.
func afterGap(err error) eventlog.Offset {
	if trimmed, ok := errors.AsType[*eventlog.TrimmedError](err); ok {
		return trimmed.Oldest
	}
	if corrupt, ok := errors.AsType[*eventlog.CorruptError](err); ok {
		return corrupt.Resume
	}
	return 0
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

package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"crest"
	"crest/internal/durable"
)

// sink writes the blocks that a feed sends, and commits. It ends with its first error: what it has not committed by then is
// read from the log again.
type sink struct {
	w       *Writer
	dir     string
	storage durable.Files
	free    chan<- *block

	state  record                   // as committed
	hours  map[crest.Millis]*change // that the next commit changes
	open   int                      // files being written
	idle   []*parquet.GenericWriter[row]
	blocks uint64 // taken in
}

// change is what the next commit changes of an hour.
type change struct {
	manifest manifest
	output   *output   // nil when the last file is finished
	finished []*output // durable, but not yet named
	replaced []File    // the file whose rows the first of them begins with
}

// maxOutputs is how many files are written at once. There are more hours that get events only where events come in no order
// at all; a file of the hour that has waited for longest is then finished early.
const maxOutputs = 24

// maxIdle is how many Parquet writers are kept for the next file. Each has buffers of a few megabytes.
const maxIdle = 4

// run takes steps until there are none.
func (s *sink) run(steps <-chan step) error {
	defer s.abandon()
	for st := range steps {
		if st.block == nil {
			if err := s.commit(st.state); err != nil {
				return fmt.Errorf("commit to the archive: %w", err)
			}
			continue
		}
		if err := s.write(st.block, st.last); err != nil {
			return err
		}
		select {
		case s.free <- st.block:
		default:
		}
	}
	return nil
}

// abandon closes what is open. Open removes what is left of it.
func (s *sink) abandon() {
	for _, c := range s.hours {
		if c.output != nil {
			_ = c.output.file.Close()
		}
	}
}

func (s *sink) write(b *block, last bool) error {
	c, err := s.change(b.hour)
	if err != nil {
		return err
	}
	if c.output == nil {
		if err := s.begin(c, b.received.First); err != nil {
			return err
		}
	}
	s.blocks++
	c.output.used = s.blocks
	c.output.note(int64(len(b.rows)), b.received, b.time, b.weight)
	if err := c.output.write(b.rows); err != nil {
		return err
	}
	if last || c.output.facts.Rows >= s.w.cfg.FileRows || c.output.facts.Bytes >= s.w.cfg.FileBytes {
		return s.finish(c)
	}
	return nil
}

// change returns what the next commit changes of an hour, which has a directory then.
func (s *sink) change(hour crest.Millis) (*change, error) {
	if c := s.hours[hour]; c != nil {
		return c, nil
	}
	if err := durable.MakeDirs(s.storage, s.dir, hourName(hour)); err != nil {
		return nil, err
	}
	m, err := readManifest(s.dir, hour)
	if errors.Is(err, fs.ErrNotExist) { // no file can be without one: Open sees to it
		m, err = manifest{Hour: hour}, nil
	}
	if err != nil {
		return nil, err
	}
	c := &change{manifest: m}
	s.hours[hour] = c
	return c, nil
}

// begin opens a file for rows of an hour, the first of which was received at a moment.
func (s *sink) begin(c *change, received crest.Millis) error {
	if s.open == maxOutputs {
		if err := s.finish(s.longestUnused()); err != nil {
			return err
		}
	}
	var pq *parquet.GenericWriter[row]
	if n := len(s.idle); n > 0 {
		pq, s.idle = s.idle[n-1], s.idle[:n-1]
	}
	o, err := s.create(c.manifest.Hour, fileName(c.manifest.Next), pq)
	if err != nil {
		return err
	}
	c.manifest.Next++
	c.output = o
	s.open++
	if len(c.finished) == 0 {
		return s.takeUp(c, received)
	}
	return nil
}

func (s *sink) longestUnused() *change {
	var oldest *change
	for _, c := range s.hours {
		if c.output != nil && (oldest == nil || c.output.used < oldest.output.used) {
			oldest = c
		}
	}
	return oldest
}

func (s *sink) finish(c *change) error {
	o := c.output
	c.output = nil
	s.open--
	if err := o.finish(); err != nil {
		return err
	}
	if len(s.idle) < maxIdle {
		s.idle = append(s.idle, o.parquet)
	}
	o.parquet = nil
	c.finished = append(c.finished, o)
	return nil
}

// commit makes all that was written part of the archive: the files get their names, then the manifests list them, then the
// state says so. What a step needs of the step before is durable by then.
func (s *sink) commit(state State) error {
	started := time.Now()
	starts := slices.Sorted(maps.Keys(s.hours))
	done := Commit{Watermark: state.Watermark, Hours: len(starts)}
	for _, start := range starts {
		for _, o := range s.hours[start].finished {
			if err := s.storage.Rename(o.path+durable.AsideSuffix, o.path); err != nil {
				return err
			}
			done.Files++
			done.Rows += o.facts.Rows
			done.Bytes += o.facts.Bytes
		}
		if err := s.storage.SyncDir(hourDir(s.dir, start)); err != nil {
			return err
		}
	}
	for _, start := range starts {
		if err := s.list(s.hours[start], state); err != nil {
			return err
		}
	}
	if len(starts) == 0 && state.equal(s.state.State) {
		s.w.committed(state, done)
		return nil
	}
	keptFrom := s.state.KeptFrom
	next := record{State: state, Hours: s.state.with(starts, state.KeptFrom)}
	if err := writeDocument(s.storage, filepath.Join(s.dir, stateName), next); err != nil {
		return err
	}
	s.state = next
	for _, start := range starts {
		for _, f := range s.hours[start].replaced {
			_ = s.storage.Remove(filepath.Join(hourDir(s.dir, start), f.Name)) // else Open does it
		}
	}
	clear(s.hours)
	done.Took = time.Since(started)
	s.w.committed(state, done)
	if state.KeptFrom > keptFrom {
		s.w.deleteBefore(state.KeptFrom)
	}
	return nil
}

// list writes an hour's manifest as it is with the new files.
func (s *sink) list(c *change, state State) error {
	m := &c.manifest
	files := slices.Clone(m.Now.Files)
	files = files[:len(files)-len(c.replaced)]
	for _, o := range c.finished {
		files = append(files, o.facts)
	}
	m.Before, m.Now = m.Now, listing{Offset: state.Offset, Files: files}
	path := filepath.Join(hourDir(s.dir, m.Hour), manifestName)
	return writeDocument(s.storage, path, m)
}

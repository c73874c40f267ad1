package exact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"crest"
	"crest/internal/archive"
	"crest/internal/counts"
	"crest/internal/durable"
)

// round is one round. The directory is its own while it lasts.
type round struct {
	config  *Config
	storage durable.Files
	dir     string
	view    *archive.View
	sight   sight

	old     *manifest       // what has been counted
	version string          // checksum of old, when it is on disk as it should be
	rebuilt bool            // old is made from the hours' files alone
	before  *manifest       // the one before it; nil when there is none
	m       *manifest       // what will have been counted
	stale   map[string]bool // windows whose totals are damaged
	found   []Problem       // that are not of the plan

	memo   map[string]hourEntry // counted in this round, by id
	failed map[string]failure   // could not be counted, by id
	result Result
}

// begin looks at what there is.
func (r *Recounter) begin(ctx context.Context) (*round, error) {
	view, err := archive.Read(r.config.Archive)
	if err != nil {
		return nil, err
	}
	if view.State.Watermark != 0 && !slices.Equal(view.State.Dimensions, r.config.Dimensions) {
		return nil, crest.Errorf(crest.CodeOutOfRange, "dimensions", "are %q; the archive in %s has %q",
			r.config.Dimensions, r.config.Archive, view.State.Dimensions)
	}
	r.mu.Lock()
	verify, forced := r.verify, maps.Clone(r.forced)
	r.mu.Unlock()
	x := &round{
		config: &r.config, storage: r.storage, dir: r.config.Dir, view: view,
		sight: sight{
			view: view, cut: view.State.Watermark.Floor(crest.Slot), wait: r.config.Wait, shapes: shapesOf(r.config.Types, r.config.Dimensions),
			forced: forced, damaged: map[crest.Millis]error{},
		},
		stale: map[string]bool{}, memo: map[string]hourEntry{}, failed: r.failed,
	}
	if err := x.open(ctx); err != nil {
		return nil, err
	}
	if verify && !x.rebuilt { // until what was rebuilt counts, what it doesn't refer to is all that tells more
		if err := sweep(x.storage, x.dir, x.old, x.before); err != nil {
			return nil, err
		}
	}
	return x, x.examine(ctx, verify)
}

// run does what is due. When it meets damage on the way, it starts again with that known.
func (x *round) run(ctx context.Context) error {
	for {
		err := x.attempt(ctx)
		if err == nil || !isDamage(err) || !x.blame(err) {
			return err
		}
	}
}

func (x *round) attempt(ctx context.Context) error {
	x.m = x.old.clone()
	x.result = Result{Problems: slices.Clone(x.found)}
	p, err := planOf(x.m, x.sight)
	if err != nil {
		return err
	}
	x.result.Problems = append(x.result.Problems, p.problems...)
	x.result.Next, x.result.Closes = p.open, p.closes
	changed, err := x.countAll(ctx, p)
	if err != nil {
		return err
	}
	if !changed && (len(x.m.Hours) == 0 || x.version != "" && x.totalsMade()) {
		x.m, x.result.Done = x.old, true
		x.tell()
		return nil
	}
	x.m.prune()
	x.m.Until = x.m.run()
	if err := x.makeTotals(ctx); err != nil {
		return err
	}
	x.tell()
	return x.commit()
}

// tell says how far counting has come.
func (x *round) tell() {
	if len(x.m.Hours) > 0 {
		x.result.First, x.result.Until = x.m.first(), x.m.Until
	}
	for _, h := range x.m.Hours {
		if h.Damaged != "" {
			x.result.Problems = append(x.result.Problems, Problem{Hour: h.Start, Err: errors.New(h.Damaged)})
		}
	}
}

// commit makes the new manifest count. The files of the one before it stay, for who reads them.
func (x *round) commit() error {
	file, version, err := x.m.encode()
	if err != nil {
		return err
	}
	if version == x.version {
		x.result.Done = len(x.result.Counted) == 0
		return nil
	}
	if x.version != "" || x.before == nil {
		// Whatever happens from here on, the files of old are still there.
		if err := x.keepOld(); err != nil {
			return err
		}
	}
	if err := replaceFile(x.storage, filepath.Join(x.dir, manifestName), file); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return sweep(x.storage, x.dir, x.m, x.old)
}

// keepOld makes what has been counted the manifest before.
func (x *round) keepOld() error {
	file, _, err := x.old.encode()
	if err != nil {
		return err
	}
	if err := replaceFile(x.storage, filepath.Join(x.dir, beforeName), file); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// blame finds out whose damage an error tells of. It returns false when that was known, or is nothing that can be
// repaired.
func (x *round) blame(err error) bool {
	path := damagedPath(err)
	at := func(f *fileEntry) bool { return f.path(x.dir) == path }
	for i := range x.old.Hours {
		h := &x.old.Hours[i]
		if slices.ContainsFunc(h.files(), at) {
			known := x.sight.damaged[h.Start] != nil
			x.sight.damaged[h.Start] = err
			return !known
		}
	}
	for i := range x.old.Totals {
		t := &x.old.Totals[i]
		if slices.ContainsFunc(t.files(), at) {
			known := x.stale[t.Window]
			x.stale[t.Window] = true
			return !known
		}
	}
	return false
}

func damagedPath(err error) string {
	if e, ok := errors.AsType[*CorruptError](err); ok {
		return e.Path
	}
	if e, ok := errors.AsType[*counts.CorruptError](err); ok {
		return e.Path
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Path
	}
	return ""
}

func (x *round) progress(p Progress) {
	if f := x.config.Observer.Progress; f != nil {
		f(p)
	}
}

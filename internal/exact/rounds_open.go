package exact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"crest"
	"crest/internal/counts"
)

// open reads the manifest. When that is damaged, the one before it counts, whose files are all still there; when both
// are, the hours' files say what they are. One of a later format is left as it is, and all else with it.
func (x *round) open(ctx context.Context) error {
	m, version, err := readManifest(filepath.Join(x.dir, manifestName))
	if err != nil && !isDamage(err) {
		return err
	}
	before, _, beforeErr := readManifest(filepath.Join(x.dir, beforeName))
	if beforeErr != nil && !isDamage(beforeErr) {
		return beforeErr
	}
	x.before = before
	switch {
	case err == nil:
		x.old, x.version = m, version
	case beforeErr == nil:
		x.old = before
		if len(before.Hours) > 0 || !errors.Is(err, fs.ErrNotExist) {
			x.note(Problem{Path: filepath.Join(x.dir, manifestName), Err: fmt.Errorf("%w; the manifest before it counts", err)})
		}
	default:
		x.rebuilt = true
		if x.old, err = x.rebuild(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

func (x *round) note(p Problem) { x.found = append(x.found, p) }

// examine finds files that are not what the manifest says: by their size, or, when it verifies, by the checksums of all
// that lists are made from.
func (x *round) examine(ctx context.Context, verify bool) error {
	needed := neededFrom(x.old, x.config.Windows)
	for i := range x.old.Hours {
		h := &x.old.Hours[i]
		if h.Damaged != "" {
			if verify {
				x.sight.damaged[h.Start] = errors.New(h.Damaged)
			}
			continue
		}
		err := x.examineHour(ctx, h, verify && h.Start >= needed)
		if err != nil && !isDamage(err) {
			return err
		}
		if err != nil {
			x.sight.damaged[h.Start] = err
			x.note(Problem{Hour: h.Start, Path: damagedPath(err), Err: err})
		}
	}
	for i := range x.old.Totals {
		t := &x.old.Totals[i]
		err := errors.Join(checkSize(x.dir, t.Counts), checkSize(x.dir, t.Candidates))
		if err == nil && verify {
			err = verifyTotal(x.dir, t)
		}
		if err != nil && !isDamage(err) {
			return err
		}
		if err != nil {
			x.stale[t.Window] = true
			x.note(Problem{Path: damagedPath(err), Err: err})
		}
		if verify {
			x.progress(Progress{Phase: PhaseVerify, Fraction: float64(i+1) / float64(len(x.old.Totals))})
		}
	}
	return ctx.Err()
}

func (x *round) examineHour(ctx context.Context, h *hourEntry, verify bool) error {
	if err := errors.Join(checkSize(x.dir, h.Counts), checkSize(x.dir, h.Late), ctx.Err()); err != nil || !verify {
		return err
	}
	x.progress(Progress{Hour: h.Start, Phase: PhaseVerify})
	return verifyHour(x.dir, h)
}

// neededFrom returns the start of the first hour that lists may be made from, apart from those of all time, or graded by.
func neededFrom(m *manifest, windows []crest.Window) crest.Millis {
	from := m.Until.Add(-eventsEnd)
	for _, w := range windows {
		from = min(from, m.Until.Add(-w.Length))
	}
	return from
}

// checkSize reports a file that is missing or has another size than it should.
func checkSize(dir string, f *fileEntry) error {
	if f == nil {
		return nil
	}
	info, err := os.Stat(f.path(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &CorruptError{f.path(dir), "it is missing"}
	case err != nil:
		return err
	case info.Size() != f.Bytes:
		return &CorruptError{f.path(dir), fmt.Sprintf("it has %d bytes, not %d", info.Size(), f.Bytes)}
	}
	return nil
}

func verifyHour(dir string, h *hourEntry) error {
	if err := verifyFile(dir, h.Counts, counts.Open); err != nil {
		return err
	}
	return verifyFile(dir, h.Late, counts.OpenLate)
}

// verifyFile reports a file that is not what it should be: opening it reads all of it.
func verifyFile[T io.Closer](dir string, f *fileEntry, open func(string, counts.Info) (T, error)) error {
	if f == nil {
		return nil
	}
	t, err := open(f.path(dir), f.Info)
	if err != nil {
		return err
	}
	return t.Close()
}

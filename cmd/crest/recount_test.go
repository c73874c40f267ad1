package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"crest"
	"crest/internal/archive"
	"crest/internal/exact"
)

// fakeRecounter gives results one after the other, the last one again and again.
type fakeRecounter struct {
	results []exact.Result
	err     error
	forced  []span
	rounds  int
}

func (f *fakeRecounter) Force(from, to crest.Millis) { f.forced = append(f.forced, span{from, to}) }

func (f *fakeRecounter) Round(context.Context) (exact.Result, error) {
	f.rounds++
	return f.results[min(f.rounds, len(f.results))-1], f.err
}

type fakeGrader struct{ hours []crest.Millis }

func (f *fakeGrader) Hour(_ context.Context, hour crest.Millis) error {
	f.hours = append(f.hours, hour)
	return nil
}

// viewOf is an archive with events in the hours 09, 10 and 11, as of another state.
func viewOf(t *testing.T, state archive.State) *archive.View {
	t.Helper()
	view, err := archive.Read(filepath.Join(archiveOf(t, someEvents(1, 100), nine+4*oclk), "archive"))
	if err != nil {
		t.Fatal(err)
	}
	view.State = state
	return view
}

const (
	nine = crest.Millis(noon - 3*anHour)
	oclk = crest.Millis(anHour)
)

func counting(t *testing.T, f *fakeRecounter, wanted span, force bool) (*recounting, *bytes.Buffer) {
	t.Helper()
	view := viewOf(t, archive.State{Watermark: nine + 2*oclk + oclk/4}) // 09 and 10 are closed, 11 is open
	var out bytes.Buffer
	s := &streams{out: &out, err: &out}
	return &recounting{view: view, wanted: wanted, force: force, s: s, table: true, recounter: f, progress: newRecountProgress(s, true)}, &out
}

func hourResult(hour crest.Millis, reason exact.Reason) exact.HourResult {
	return exact.HourResult{Hour: hour, Cut: hour + oclk + oclk/6, Reason: reason, Rows: 1020, Weight: 1000, Duplicates: 20, Late: 3, Items: 77, Boards: 1}
}

func TestRecountCountsUntilNothingIsDue(t *testing.T) {
	f := &fakeRecounter{results: []exact.Result{
		{Counted: []exact.HourResult{hourResult(nine, exact.ReasonClosed)}, First: nine, Until: nine + oclk},
		{Counted: []exact.HourResult{hourResult(nine, exact.ReasonLate), hourResult(nine+oclk, exact.ReasonClosed)}, First: nine, Until: nine + 2*oclk},
		{First: nine, Until: nine + 2*oclk, Done: true, Next: nine + 2*oclk, Closes: nine + 3*oclk + oclk/6},
	}}
	r, out := counting(t, f, span{}, false)
	var g fakeGrader
	r.grader = &g
	if err := errors.Join(r.check(), r.run(t.Context()), r.report.printEnd(out, r.view)); err != nil {
		t.Fatal(err)
	}
	want := `hour                   counted    duplicates          late         items  seconds  why
2026-11-30T09            1,000            20             3            77      0.0  closed
2026-11-30T09            1,000            20             3            77      0.0  late
2026-11-30T10            1,000            20             3            77      0.0  closed
counts are exact from 2026-11-30T09:00Z until 2026-11-30T11:00Z
next is hour 2026-11-30T11, which closes when everything received before 2026-11-30T12:10Z is in the archive; it has everything before 2026-11-30T11:15Z
`
	if out.String() != want {
		t.Errorf("printed\n%s", out)
	}
	if len(f.forced) != 0 || len(g.hours) != 3 {
		t.Errorf("forced %v, graded %v", f.forced, g.hours)
	}
	out.Reset()
	if err := r.report.printJSON(out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		ExactUntil time.Time `json:"exact_until"`
		Hours      []struct {
			Hour       time.Time
			Duplicates uint64
		}
		Problems []any
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.ExactUntil != (nine+2*oclk).Time() || len(got.Hours) != 3 || got.Hours[0].Duplicates != 20 || got.Problems == nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestRecountOfNamedHours(t *testing.T) {
	done := exact.Result{First: nine, Until: nine + 2*oclk, Done: true}
	one := span{nine, nine + oclk}

	r, out := counting(t, &fakeRecounter{results: []exact.Result{done}}, one, false)
	if err := errors.Join(r.check(), r.run(t.Context()), r.report.printEnd(out, r.view)); err != nil || !strings.Contains(out.String(), "nothing to do: hour 2026-11-30T09 had been counted") {
		t.Errorf("counted already: %v %s", err, out)
	}

	f := &fakeRecounter{results: []exact.Result{
		{Counted: []exact.HourResult{hourResult(nine, exact.ReasonForced)}, First: nine, Until: nine + 2*oclk},
		{},
	}}
	r, _ = counting(t, f, one, true)
	if err := errors.Join(r.check(), r.run(t.Context())); err != nil || f.rounds != 1 || len(f.forced) != 1 || f.forced[0] != one {
		t.Errorf("forced: %v, %d rounds, %v", err, f.rounds, f.forced)
	}

	f = &fakeRecounter{results: []exact.Result{done}}
	r, out = counting(t, f, span{nine, nine + 400*oclk}, true)
	if err := errors.Join(r.check(), r.run(t.Context()), r.report.printEnd(out, r.view)); err != nil || f.forced[0] != (span{nine, nine + 2*oclk}) {
		t.Errorf("into the future: %v, %v", err, f.forced)
	}
	if !strings.Contains(out.String(), "hours from 2026-11-30T11:00Z on are still open") {
		t.Errorf("into the future: %s", out)
	}

	r, _ = counting(t, &fakeRecounter{}, span{nine + 2*oclk, nine + 3*oclk}, false)
	if err := r.check(); err == nil || !strings.Contains(err.Error(), "hour 2026-11-30T11 is still open: it closes when everything received before 2026-11-30T12:10Z") {
		t.Errorf("open: %v", err)
	}
	for _, c := range []struct {
		wanted span
		want   string
	}{
		{span{nine - 7*oclk, nine - 6*oclk}, "the archive has no events of hour 2026-11-30T02; the first hour that has any is 2026-11-30T09"},
		{span{to: nine}, "the archive has no events of the hours before 2026-11-30T09"},
	} {
		for _, force := range []bool{false, true} {
			r, _ := counting(t, &fakeRecounter{}, c.wanted, force)
			if err := r.check(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("before the first: %v", err)
			}
		}
	}
	r, _ = counting(t, &fakeRecounter{results: []exact.Result{done}}, span{nine - 7*oclk, nine - 6*oclk}, false)
	r.view.State.KeptFrom = nine // what was before is gone, and was never counted
	if err := errors.Join(r.check(), r.run(t.Context())); err == nil || !strings.Contains(err.Error(), "no events of hour 2026-11-30T02; counts begin with hour 2026-11-30T09") {
		t.Errorf("before the first count: %v", err)
	}
	f = &fakeRecounter{results: []exact.Result{{Done: true}}}
	r, out = counting(t, f, span{}, true)
	r.view.State.Watermark = nine + oclk
	if err := errors.Join(r.check(), r.run(t.Context()), r.report.printEnd(out, r.view)); err != nil || len(f.forced) != 0 || !strings.Contains(out.String(), "no hour is closed yet") {
		t.Errorf("nothing is closed: %v, forced %v, %s", err, f.forced, out)
	}
	r, _ = counting(t, &fakeRecounter{}, span{nine - 48*oclk, nine}, true)
	r.view.State.KeptFrom = nine
	if err := r.check(); err == nil || !strings.Contains(err.Error(), "its events are gone, the archive goes back to 2026-11-30T09") {
		t.Errorf("gone: %v", err)
	}
}

func TestRecountSaysWhatItCouldNotDo(t *testing.T) {
	f := &fakeRecounter{results: []exact.Result{{
		First: nine, Until: nine + oclk, Done: true, Repaired: []string{"totals-24h.parquet"},
		Problems: []exact.Problem{{Hour: nine + oclk, Path: "x.parquet", Err: errors.New("archive file x.parquet is damaged")}},
	}}}
	r, out := counting(t, f, span{}, false)
	err := errors.Join(r.check(), r.run(t.Context()))
	if err == nil || !strings.Contains(err.Error(), "1 of what is due could not be done") {
		t.Errorf("%v", err)
	}
	if err := r.report.printEnd(out, r.view); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"repaired: totals-24h.parquet", "could not be done: hour 2026-11-30T10: archive file x.parquet is damaged", "until 2026-11-30T10:00Z"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestRecountThatRepairsIsNoFailure(t *testing.T) {
	damage := errors.New("it is damaged")
	f := &fakeRecounter{results: []exact.Result{
		{
			First: nine, Until: nine + 2*oclk, Repaired: []string{"counts-9.parquet", "totals.parquet"},
			Counted: []exact.HourResult{hourResult(nine, exact.ReasonDamaged)},
			Problems: []exact.Problem{
				{Path: "exact/manifest.json", Err: damage}, {Hour: nine, Path: "counts-8.parquet", Err: damage}, {Path: "totals.parquet", Err: damage},
			},
		},
		{First: nine, Until: nine + 2*oclk, Done: true},
	}}
	r, out := counting(t, f, span{}, false)
	if err := errors.Join(r.check(), r.run(t.Context()), r.report.printEnd(out, r.view)); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"repaired: exact/manifest.json\n", "repaired: counts-9.parquet\n", "repaired: totals.parquet\n"} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "could not be done") {
		t.Errorf("%s", out)
	}
}

// TestRecountMakesADamagedManifestAgain damages the manifests of real counts.
func TestRecountMakesADamagedManifestAgain(t *testing.T) {
	data := archiveOf(t, someEvents(23, 500), nine+5*oclk)
	recount := func() (int, string, string) { return call(t, "", "recount", "--preset", "shares", "--data", data) }
	if code, _, errText := recount(); code != exitOK {
		t.Fatal(errText)
	}
	for _, names := range [][]string{{"manifest.json"}, {"manifest.json", "manifest-before.json"}} {
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(data, "exact", name), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		code, out, errText := recount()
		if code != exitOK || !strings.Contains(out, "repaired: "+filepath.Join(data, "exact", "manifest.json")) {
			t.Errorf("%v: %d %s%s", names, code, out, errText)
		}
		if code, out, _ := recount(); code != exitOK || strings.Contains(out, "repaired") {
			t.Errorf("%v, again: %d %s", names, code, out)
		}
	}
}

func TestRecountThatIsStoppedSaysNothingOfCounts(t *testing.T) {
	r, out := counting(t, &fakeRecounter{results: []exact.Result{{}}, err: context.Canceled}, span{}, false)
	if err := errors.Join(r.check(), r.run(t.Context())); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := r.report.printEnd(out, r.view); err != nil || out.Len() > 0 {
		t.Errorf("%v %s", err, out)
	}
}

func TestErrorsOfPermissionSayWhatToDo(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: "data/log/LOCK", Err: syscall.EACCES}
	if err := whoMayRead(fmt.Errorf("list grades: %w", denied)); !errors.Is(err, fs.ErrPermission) || !strings.HasSuffix(err.Error(), "run this as the user that runs crest serve") {
		t.Errorf("%v", err)
	}
	const want = "open data/log/LOCK: permission denied; run this as the user that the data directory belongs to, or name another directory with --data"
	if err := whoMayServe(fmt.Errorf("open the event log: %w", denied)); err.Error() != want {
		t.Errorf("%v", err)
	}
	if err := whoMayServe(syscall.EACCES); err != syscall.EACCES { //nolint:errorlint // the same
		t.Errorf("of an address: %v", err)
	}
}

func TestRecountMistakesSayWhatToDo(t *testing.T) {
	empty := t.TempDir()
	shares := archiveOf(t, someEvents(1, 100), nine+4*oclk)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "is not at the full hour; hours of UTC are counted, such as 2026-11-30T09", []string{"--hour", "2026-11-30T09:30"}},
		{exitUsage, "--from 2026-11-30T10 is not before --to 2026-11-30T09", []string{"--from", "2026-11-30T10", "--to", "2026-11-30T09"}},
		{exitUsage, "choose one hour or a range", []string{"--hour", "2026-11-30T09", "--to", "2026-11-30T10"}},
		{exitUsage, "--hour yesterday: is no time", []string{"--hour", "yesterday"}},
		{exitUsage, "is not a size", []string{"--memory", "much"}},
		{exitFailure, "there is no archive in " + filepath.Join(empty, "archive"), []string{"--data", empty}},
		{exitFailure, "there is no archive", []string{"--data", filepath.Join(empty, "nothing")}},
		{
			exitFailure, "the archive's events have the dimensions category, region, and the configuration declares no dimensions; name what the server runs with",
			[]string{"--data", shares},
		},
		{exitUsage, "--memory: is 5B; it must be from 64MiB to 1TiB", []string{"--data", shares, "--preset", "shares", "--memory", "5"}},
		{exitUsage, "--memory: is 63MiB; it must be from 64MiB", []string{"--data", shares, "--preset", "shares", "--memory", "63MiB"}},
		{exitFailure, "the archive has no events of hour 2026-11-30T02", []string{"--data", shares, "--preset", "shares", "--hour", "2026-11-30T02"}},
		{exitFailure, "hour 2026-11-30T13 is still open", []string{"--data", shares, "--preset", "shares", "--hour", "2026-11-30T13"}},
		{exitFailure, "hour 2027-01-01T00 is still open", []string{"--data", shares, "--preset", "shares", "--hour", "2027-01-01T00", "--force"}},
	} {
		code, _, errText := call(t, "", append([]string{"recount"}, c.args...)...)
		if code != c.code || !strings.Contains(errText, c.want) {
			t.Errorf("%v: %d %s", c.args, code, errText)
		}
	}
}

func TestRecountProgressLine(t *testing.T) {
	var line bytes.Buffer
	p := newRecountProgress(&streams{err: &line, errTerm: true}, false)
	clock := time.Unix(0, 0)
	p.now = func() time.Time { return clock }
	p.left = func(hour crest.Millis) int { return int((nine + 3*oclk - hour) / oclk) }
	p.begin()
	p.note(exact.Progress{Hour: nine, Phase: exact.PhaseCount, Rows: 1_000_000})
	clock = clock.Add(10 * time.Second)
	if got := p.text(exact.Progress{Hour: nine, Phase: exact.PhaseCount, Fraction: 0.5, Rows: 1_000_000}, clock); got != "hour 2026-11-30T09, count  50%, 50 k rows/s" {
		t.Errorf("%s", got)
	}
	p.note(exact.Progress{Hour: nine + oclk, Phase: exact.PhaseVerify})
	if got := p.text(exact.Progress{Hour: nine + oclk, Phase: exact.PhaseVerify, Fraction: 1}, clock); got != "hour 2026-11-30T10, verify 100%, 2 hours more in about 20s" {
		t.Errorf("%s", got)
	}
	clock = clock.Add(time.Second)
	if took := p.took(); took[nine] != 10*time.Second || took[nine+oclk] != time.Second {
		t.Errorf("%v", took)
	}
}

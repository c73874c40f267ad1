package main

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crest"
	"crest/internal/exact/exacttest"
)

// someEvents are articles shared in three hours from 09:00 on: some sent twice, some received late, some with a region.
func someEvents(seed uint64, n int) []exacttest.Received {
	random := rand.New(rand.NewPCG(seed, 7))
	var events []exacttest.Received
	for i := range n {
		at := nine + crest.Millis(i)*3*oclk/crest.Millis(n)
		ev := crest.Event{Type: "article", Weight: 1 + random.Uint32N(3), Time: max(nine, at-crest.Millis(random.IntN(600_000)))}
		binary.LittleEndian.PutUint64(ev.ID[:], uint64(i)+1)
		ev.Item = fmt.Sprintf("a%d", int(50*random.Float64()*random.Float64()))
		if random.IntN(2) == 0 {
			ev.Dimensions[0] = []string{"sports", "news"}[random.IntN(2)]
		}
		if random.IntN(2) == 0 {
			ev.Dimensions[1] = []string{"eu", "us"}[random.IntN(2)]
		}
		if i > 100 && random.IntN(20) == 0 {
			ev = events[i-1-random.IntN(10)].Event // again, moments later
		}
		events = append(events, exacttest.Received{Event: ev, At: at})
	}
	return events
}

// archiveOf writes events into the archive of a data directory, which it returns.
func archiveOf(t *testing.T, events []exacttest.Received, until crest.Millis) string {
	t.Helper()
	data := t.TempDir()
	if err := exacttest.Write(t.Context(), filepath.Join(data, "archive"), []string{"category", "region"}, slices.Values(events), until); err != nil {
		t.Fatal(err)
	}
	return data
}

// naiveTop counts events as a list as of a moment does.
func naiveTop(events []exacttest.Received, from, to, before crest.Millis, board func(*crest.Event) bool) (top []documentEntry, total, duplicates uint64) {
	sums := map[string]uint64{}
	seen := map[crest.EventID]bool{}
	for _, ev := range events {
		if ev.At >= before {
			break
		}
		again := seen[ev.ID]
		seen[ev.ID] = true
		switch {
		case ev.Time < from || ev.Time >= to || !board(&ev.Event):
		case again:
			duplicates += uint64(ev.Weight)
		default:
			sums[ev.Item] += uint64(ev.Weight)
			total += uint64(ev.Weight)
		}
	}
	for item, n := range sums {
		top = append(top, documentEntry{Item: item, Count: n})
	}
	slices.SortFunc(top, func(a, b documentEntry) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Item, b.Item))
	})
	for i := range top {
		top[i].Rank = i + 1
	}
	return top, total, duplicates
}

func TestRankOfAnArchiveIsExact(t *testing.T) {
	const seed = 3
	events := someEvents(seed, 3000)
	until := nine + 4*oclk
	data := archiveOf(t, events, until)
	all := func(*crest.Event) bool { return true }
	sports := func(ev *crest.Event) bool { return ev.Dimensions[0] == "sports" }
	both := func(ev *crest.Event) bool { return sports(ev) && ev.Dimensions[1] == "eu" }
	for _, c := range []struct {
		args             []string
		from, to, before crest.Millis
		board            func(*crest.Event) bool
	}{
		{nil, 0, until, until, all},
		{[]string{"--type", "article", "--from", "2026-11-30T09", "--to", "2026-11-30T11"}, nine, nine + 2*oclk, until, all},
		{[]string{"--from", "2026-11-30T09:10:00Z", "--to", "2026-11-30T10:31:07Z"}, nine + oclk/6, nine + oclk + 31*60_000 + 7000, until, all},
		{[]string{"--window", "1h", "--at", "2026-11-30T10:05"}, nine + oclk/12, nine + oclk + oclk/12, nine + oclk + oclk/12, all},
		{[]string{"--to", "2026-11-30T11", "--received-before", "2026-11-30T10:20"}, 0, nine + 2*oclk, nine + oclk + oclk/3, all},
		{[]string{"--board", "article/category=sports"}, 0, until, until, sports},
		{[]string{"--where", "region=eu", "--where", "category=sports"}, 0, until, until, both},
		{[]string{"--board", "article/region=eu/category=sports", "--memory", "64MiB"}, 0, until, until, both},
	} {
		code, out, errText := call(t, "", append([]string{"rank", data, "--json", "-k", "10"}, c.args...)...)
		var got document
		if err := json.Unmarshal([]byte(out), &got); code != exitOK || err != nil {
			t.Errorf("%v: %d, %v %s", c.args, code, err, errText)
			continue
		}
		top, total, duplicates := naiveTop(events, c.from, c.to, c.before, c.board)
		if got.Total != total || !got.Exact || !slices.Equal(got.Top, top[:10]) || got.Cutoff != top[10].Count || got.Proven != 10 {
			t.Errorf("seed %d, %v:\n%s\nwant %d in all, %v, then %d", seed, c.args, out, total, top[:10], top[10].Count)
		}
		if want := fmt.Sprintf("%s more were sent twice", grouped(duplicates)); !strings.Contains(errText, want) || !strings.Contains(errText, "every count is exact") {
			t.Errorf("%v: no %q in %s", c.args, want, errText)
		}
	}
	code, out, _ := call(t, "", "rank", filepath.Join(data, "archive"), "-k", "2", "--format", "csv", "--quiet")
	if code != exitOK || strings.Count(out, "\n") != 3 {
		t.Errorf("archive directory: %d %s", code, out)
	}
}

func TestRankOfAnArchiveRefuses(t *testing.T) {
	data := archiveOf(t, someEvents(1, 300), nine+4*oclk)
	empty := t.TempDir()
	file := filepath.Join(empty, "x.csv")
	if err := os.WriteFile(file, []byte("item\na\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "--item: has no meaning for an archive", []string{data, "--item", "id"}},
		{exitUsage, "--every: has no meaning for an archive", []string{data, "--every", "1m"}},
		{exitUsage, "--type: has a meaning for an archive only", []string{file, "--type", "video"}},
		{exitUsage, "an archive is ranked by itself", []string{data, file}},
		{exitFailure, "is no archive, and no data directory with one", []string{empty}},
		{exitUsage, "choose a window or a range", []string{data, "--at", "2026-11-30T10", "--from", "2026-11-30T09"}},
		{exitUsage, "choose a window or a range", []string{data, "--window", "1h", "--from", "2026-11-30T09"}},
		{exitUsage, "--from 2026-11-30T11:00Z is not before --to 2026-11-30T10:00Z", []string{data, "--from", "2026-11-30T11", "--to", "2026-11-30T10"}},
		{exitFailure, "--to 2026-12-24T18: the archive has what was received before 2026-11-30T13:00Z and nothing later", []string{data, "--to", "2026-12-24T18"}},
		{exitUsage, "--where colour=red: is no dimension; the archive's events have the dimensions category, region", []string{data, "--where", "colour=red"}},
		{exitUsage, "write DIMENSION=VALUE", []string{data, "--board", "article/region"}},
		{exitUsage, "an event has one value of a dimension", []string{data, "--where", "region=eu", "--where", "region=us"}},
		{exitUsage, "--board: can't be combined with --type", []string{data, "--board", "article", "--type", "article"}},
		{exitUsage, "--k: is 0", []string{data, "-k", "0"}},
		{exitUsage, "--memory: is 63MiB; it must be from 64MiB to 1TiB", []string{data, "--memory", "63MiB"}},
		{exitUsage, "--board article/colour=red: colour=red: is no dimension", []string{data, "--board", "article/colour=red"}},
		{exitFailure, `--type: there are no events of type "film"; the archive has article`, []string{data, "--type", "film"}},
		{exitFailure, `--board: there are no events of type "film"`, []string{data, "--board", "film/region=eu", "--from", "2026-11-30T09", "--to", "2026-11-30T10"}},
		{exitUsage, "--edge: is 40m0s; it must be less than", []string{data, "--edge", "40m"}},
	} {
		code, out, errText := call(t, "", append([]string{"rank"}, c.args...)...)
		if code != c.code || !strings.Contains(errText, c.want) || out != "" {
			t.Errorf("%v: %d %s%s", c.args, code, out, errText)
		}
	}
	code, out, errText := call(t, "", "rank", data, "--board", "article/category=chess")
	if code != exitOK || !strings.Contains(errText, "nothing was counted") || strings.Count(out, "\n") != 1 {
		t.Errorf("a board without events: %d %s %s", code, out, errText)
	}
}

func TestRankAsksForTheTypeOfAMixedArchive(t *testing.T) {
	events := someEvents(1, 300)
	for i := range events {
		if i%3 == 0 {
			events[i].Type = "video"
		}
	}
	data := archiveOf(t, events, nine+4*oclk)
	code, _, errText := call(t, "", "rank", data)
	if code != exitUsage || !strings.Contains(errText, "--type: is missing; the archive has article, video") {
		t.Errorf("%d %s", code, errText)
	}
	if code, _, errText := call(t, "", "rank", data, "--type", "video"); code != exitOK {
		t.Errorf("%d %s", code, errText)
	}
}

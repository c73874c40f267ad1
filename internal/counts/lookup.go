package counts

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"sort"
	"sync"

	"github.com/parquet-go/parquet-go"
)

// lookupReaders is how many pages are read at the same time: a disk answers many small reads faster than one after another.
const lookupReaders = 16

// wanted is an item to look for on a page.
type wanted struct {
	page int
	item int // its place in the caller's list
}

// Lookup reads the rows of items of a board: in the order of the items, with a zero Row for one that is not there. Items may
// come in any order and more than once. It reads single pages: those whose bounds an item lies in and whose filter doesn't
// rule it out.
func (t *Table) Lookup(board string, items []string) ([]Row, error) {
	rows := make([]Row, len(items))
	b, ok := t.sheet.directory.find(board)
	if !ok {
		return rows, nil
	}
	want, err := t.plan(b, items)
	if err != nil {
		return nil, err
	}
	l := lookup{sheet: t.sheet, board: b, items: items, rows: rows}
	if err := l.run(want); err != nil {
		return nil, err
	}
	return rows, nil
}

// plan says on which pages to look for the items, by page.
func (t *Table) plan(b BoardInfo, items []string) ([]wanted, error) {
	span := newSpan(t.sheet, b)
	want := make([]wanted, 0, len(items))
	for i, item := range items {
		pages, err := span.find(item)
		if err != nil {
			return nil, err
		}
		for _, p := range pages {
			want = append(want, wanted{p, i})
		}
	}
	slices.SortFunc(want, func(a, b wanted) int { return cmp.Or(cmp.Compare(a.page, b.page), cmp.Compare(a.item, b.item)) })
	return want, nil
}

// span is the pages of a board. On those that it has to itself, the bounds in the page index are its first and last item.
// The page before and the one after them may have rows of other boards too, so their bounds say nothing.
type span struct {
	sheet       *sheet
	first, last int // pages with rows of the board
	from, to    int // those from `from` to before `to` have no others
	edges       []int
	answer      [1]int
}

func newSpan(s *sheet, b BoardInfo) *span {
	end := b.First + b.Rows
	p := &span{
		sheet: s,
		first: int(b.First / pageRows), last: int((end - 1) / pageRows),
		from: int((b.First + pageRows - 1) / pageRows), to: int(end / pageRows),
	}
	if end == s.rows {
		p.to = p.last + 1
	}
	for _, page := range []int{p.first, p.last} {
		if (page < p.from || page >= p.to) && !slices.Contains(p.edges, page) {
			p.edges = append(p.edges, page)
		}
	}
	return p
}

// find returns the pages on which an item can be: none or one, or two when the board has rows on two shared pages alone. The
// result is valid until the next call.
func (p *span) find(item string) ([]int, error) {
	if p.from >= p.to {
		return p.edges, nil
	}
	key := []byte(item)
	var err error
	after := sort.Search(p.to-p.from, func(i int) bool {
		low, _, e := p.sheet.bounds(p.from + i)
		err = errors.Join(err, e)
		return bytes.Compare(low, key) > 0
	})
	if err != nil {
		return nil, err
	}
	if after == 0 {
		return p.edges[:min(len(p.edges), p.from-p.first)], nil
	}
	page := p.from + after - 1
	_, high, err := p.sheet.bounds(page)
	switch {
	case err != nil:
		return nil, err
	case bytes.Compare(key, high) <= 0:
		p.answer[0] = page
		return p.answer[:], nil
	case page == p.to-1 && p.last >= p.to:
		p.answer[0] = p.last
		return p.answer[:], nil
	}
	return nil, nil
}

// bounds returns the smallest and the largest item of a page.
func (s *sheet) bounds(page int) (low, high []byte, err error) {
	g, err := s.group(page / groupPages)
	if err != nil {
		return nil, nil, err
	}
	return g.low[page%groupPages], g.high[page%groupPages], nil
}

// lookup is one call of Lookup.
type lookup struct {
	sheet *sheet
	board BoardInfo
	items []string
	rows  []Row
}

// run looks for items that are sorted by page.
func (l *lookup) run(want []wanted) error {
	var runs [][]wanted
	for len(want) > 0 {
		n := 1
		for n < len(want) && want[n].page == want[0].page {
			n++
		}
		runs = append(runs, want[:n])
		want = want[n:]
	}
	next := make(chan []wanted)
	failed := make(chan error, lookupReaders)
	var readers sync.WaitGroup
	for range min(lookupReaders, len(runs)) {
		readers.Go(func() {
			var err error
			for run := range next {
				if err == nil {
					err = l.look(run)
				}
			}
			failed <- err
		})
	}
	for _, run := range runs {
		next <- run
	}
	close(next)
	readers.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// look looks for items on their page.
func (l *lookup) look(want []wanted) error {
	page := want[0].page
	possible, err := l.filter(page, want)
	if err != nil || len(possible) == 0 {
		return err
	}
	r, err := l.sheet.reader(0)
	if err != nil {
		return err
	}
	defer l.sheet.giveBack(r)
	if err := r.readItems(page); err != nil {
		return err
	}
	from := max(l.board.First-int64(page)*pageRows, 0)
	to := min(l.board.First+l.board.Rows-int64(page)*pageRows, int64(r.n))
	numbers := false
	for _, w := range possible {
		key := []byte(l.items[w.item])
		at := int(from) + sort.Search(int(to-from), func(i int) bool { return bytes.Compare(r.item(int(from)+i), key) >= 0 })
		if at == int(to) || !bytes.Equal(r.item(at), key) {
			continue
		}
		if !numbers {
			if err := r.readNumbers(page); err != nil {
				return err
			}
			numbers = true
		}
		l.rows[w.item] = Row{l.board.Board, l.items[w.item], uint64(r.a[at]), uint64(r.b[at])}
	}
	return nil
}

// filter leaves out the items that the row group's filter rules out.
func (l *lookup) filter(page int, want []wanted) (possible []wanted, err error) {
	err = guard(func() error {
		f, err := l.sheet.filter(page / groupPages)
		if err != nil {
			return err
		}
		for _, w := range want {
			ok, err := f.Check(parquet.ByteArrayValue([]byte(l.items[w.item])))
			if err != nil {
				return err
			}
			if ok {
				possible = append(possible, w)
			}
		}
		return nil
	})
	return possible, l.sheet.wrap("filter of items", err)
}

// item returns an item of the page.
func (r *pageReader) item(i int) []byte { return r.texts[r.offsets[i]:r.offsets[i+1]] }

package exact

import (
	"context"
	"unsafe"

	"crest"
	"crest/internal/counts"
)

// grouping turns sums, which come by board, item and slot, into rows of counts.
type grouping struct {
	boards *boards
	end    crest.Millis // of the hour; late slots begin there
	full   chan *batch
	empty  chan *batch

	batch      *batch
	row        counts.Row // at work; without an item at first
	number     uint32     // of its board
	text       []byte     // rows' items, which writers keep for a while: never used again
	records    int64
	items      int64
	boardCount int
}

func (g *grouping) run(ctx context.Context, m *merge) error {
	g.batch = <-g.empty
	if err := m.each(ctx, g.record); err != nil {
		return err
	}
	g.endRow()
	g.send()
	return nil
}

func (g *grouping) record(r *record) error {
	g.records++
	if g.row.Item == "" || r.board != g.number || string(r.item) != g.row.Item {
		g.endRow()
		if g.row.Item == "" || r.board != g.number {
			g.boardCount++
			g.row.Board = g.boards.name(r.board)
		}
		g.number = r.board
		g.row = counts.Row{Board: g.row.Board, Item: g.keep(r.item)}
	}
	switch r.slot {
	case slotCount:
		g.row.Count = r.sum
	case slotDuplicates:
		g.row.Duplicates = r.sum
	default:
		received := g.end + crest.Millis(int64(r.slot-slotLate)*crest.Slot.Milliseconds())
		g.batch.late = append(g.batch.late, counts.Late{Board: g.row.Board, Item: g.row.Item, Received: received, Weight: r.sum})
	}
	return nil
}

func (g *grouping) endRow() {
	if g.row.Item == "" {
		return
	}
	g.items++
	g.batch.rows = append(g.batch.rows, g.row)
	if len(g.batch.rows)+len(g.batch.late) >= batchRows {
		g.send()
	}
}

// send hands the batch on and takes another.
func (g *grouping) send() {
	g.batch.records = g.records
	g.full <- g.batch
	g.batch = <-g.empty
}

// keep returns an item as a text of its own.
func (g *grouping) keep(item []byte) string {
	if len(g.text)+len(item) > cap(g.text) {
		g.text = make([]byte, 0, textBlock)
	}
	at := len(g.text)
	g.text = append(g.text, item...)
	return unsafe.String(&g.text[at], len(item)) //nolint:gosec // these bytes are never written again
}

package pipeline

import (
	"fmt"

	"crest/internal/eventlog"
)

// take counts a batch, stopping at every moment at which something is due: what a list says as of a moment covers
// exactly the records received before it.
func (p *Pipeline) take(batch eventlog.Batch) error {
	records := batch.Records
	if p.since == 0 {
		p.since = batch.Watermark
		if len(records) > 0 {
			p.since = records[0].Received
		}
		p.planFrom(p.since)
	}
	if len(p.marks.list) == 0 {
		p.marks.add(p.since, p.offset)
	}
	for len(records) > 0 {
		due := p.due()
		n := 0
		for n < len(records) && records[n].Received < due {
			n++
		}
		if n == 0 {
			if err := p.reach(records[0].Received); err != nil {
				return err
			}
			continue
		}
		if err := p.aggregate(records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	p.offset = batch.Next
	p.marks.add(batch.Watermark, batch.Next)
	if batch.Watermark >= p.due() {
		if err := p.reach(batch.Watermark); err != nil {
			return err
		}
	}
	p.watermark = max(p.watermark, batch.Watermark)
	if p.watermark < p.checkpointAt {
		return nil
	}
	// Only between batches does the offset belong to what has been counted.
	p.checkpointAt = after(p.watermark, p.config.Counting.Checkpoint)
	return p.checkpoint()
}

// aggregate sums records into their partitions' aggregators, and flushes when one has enough.
func (p *Pipeline) aggregate(records []eventlog.Record) error {
	for _, part := range p.parts {
		part.records, part.events, part.skipped = part.records[:0], 0, nil
	}
	for _, r := range records {
		part := p.parts[r.Partition%len(p.parts)]
		part.records = append(part.records, r)
	}
	err := p.parallel(len(p.parts), func(i int) error {
		p.parts[i].aggregate()
		return nil
	})
	if err != nil {
		return err
	}
	p.received = max(p.received, records[len(records)-1].Received)
	events, full := 0, false
	for _, part := range p.parts {
		events += part.events
		full = full || part.aggregator.Len() >= p.layout.MaxPartials
		if part.skipped != nil {
			p.noteSkipped(part.skipped)
		}
	}
	if p.options.Observer.Read != nil {
		p.options.Observer.Read(events, len(records))
	}
	if full {
		return p.flush()
	}
	return nil
}

// aggregate takes in the partition's records, a few dozen events at a time.
func (part *partition) aggregate() {
	for _, r := range part.records {
		err := part.decoder.Reset(r.Payload)
		for n := 0; err == nil; n = 0 {
			for n < len(part.some) && part.decoder.Next(&part.some[n].Event) {
				if typ := part.decoder.Type(); typ >= 0 {
					part.some[n].Type = typ
					n++
				}
			}
			if n == 0 {
				err = part.decoder.Err()
				break
			}
			part.aggregator.Add(part.some[:n], r.Received)
			part.events += n
		}
		if err != nil {
			part.skipped = fmt.Errorf("partition %d, received %s: %w", r.Partition, r.Received.Time(), err)
		}
	}
}

// flush adds what the aggregators have summed to the shards. Every shard takes the partitions in the same order.
func (p *Pipeline) flush() error {
	partials := 0
	empty := true
	for _, part := range p.parts {
		part.aggregator.Flush()
		partials += part.aggregator.Len()
		empty = empty && part.aggregator.Empty()
	}
	if empty {
		return nil
	}
	err := p.parallel(len(p.parts), func(i int) error {
		p.parts[i].aggregator.Group()
		return nil
	})
	if err != nil {
		return err
	}
	err = p.parallel(len(p.shards), func(s int) error {
		p.partial[s] = p.partial[s][:0]
		for _, part := range p.parts {
			p.partial[s] = part.aggregator.Shard(p.partial[s], s)
		}
		p.shards[s].Advance(p.received + 1)
		return p.shards[s].Apply(p.partial[s])
	})
	if err != nil {
		return err
	}
	return p.flushed(partials)
}

// flushed notes what was dropped, which the first shard keeps for all, and empties the aggregators.
func (p *Pipeline) flushed(partials int) error {
	var duplicates, refused uint64
	for _, part := range p.parts {
		dropped := part.aggregator.Dropped()
		for _, d := range dropped {
			duplicates += d.Weight
		}
		if err := p.shards[0].ApplyDuplicates(dropped); err != nil {
			return err
		}
		if part.aggregator.TakeForgot() { // what was forgotten can come again for as long as it should be known
			p.partialUntil = p.received.Add(p.layout.Horizon)
		}
		refused += part.aggregator.Refused()
		part.aggregator.Reset()
	}
	if p.received < p.partialUntil {
		if err := p.shards[0].NotePartialDedup(); err != nil {
			return err
		}
	}
	if p.options.Observer.Flushed != nil {
		p.options.Observer.Flushed(partials, duplicates, refused)
	}
	return nil
}

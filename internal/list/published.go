package list

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"crest"
)

// Published is one version of a list, ready to be sent for every k that is offered. Its list never changes. Any number
// of goroutines may read it; reading takes no lock once a body has been made.
type Published struct {
	list    *crest.List
	sizes   *sizes
	with    *compressor
	entries []byte // the entries' JSON, a comma after each
	ends    []int  // where in entries each one ends, its comma not included
	mark    uint32 // hash of entries
	slots   []slot // one per k offered
	making  sync.Mutex
}

// slot holds the bodies of one k.
type slot struct {
	forms [encodings]atomic.Pointer[form]
	asked [encodings]atomic.Bool  // somebody wanted this form of this version
	last  [encodings]crest.Millis // as_of of the last version before this one that somebody wanted in this form
}

// form is one body as it goes over the wire.
type form struct {
	body     []byte
	encoding string
	etag     string
}

// prebuildFor is for how long after somebody has asked for a form new versions come with it ready made.
const prebuildFor = 2 * time.Minute

// render makes a list ready. Forms that were wanted lately are made at once, the others when they are first wanted;
// previous is the version before, nil when there is none.
func render(l *crest.List, sz *sizes, with *compressor, previous *Published) *Published {
	p := &Published{list: l, sizes: sz, with: with, slots: make([]slot, sz.slots()), ends: make([]int, len(l.Top))}
	room := 160 * len(l.Top)
	if previous != nil {
		room = len(previous.entries) + len(previous.entries)/8
	}
	p.entries = make([]byte, 0, room)
	for i := range l.Top {
		p.entries = l.AppendJSONEntry(p.entries, &l.Top[i])
		p.ends[i] = len(p.entries)
		p.entries = append(p.entries, ',')
	}
	p.mark = uint32(xxh3.Hash(p.entries))
	for i := range p.slots {
		for enc := range encodings {
			if p.wanted(i, enc, previous) {
				p.build(i, sz.k(i), enc)
			}
		}
	}
	return p
}

// wanted reports whether to make a form before anybody asks: of the first version of a list the common sizes, of a
// later one what was asked for lately.
func (p *Published) wanted(i int, enc encoding, previous *Published) bool {
	if previous == nil {
		return slices.Contains(p.sizes.common, p.sizes.k(i))
	}
	last := previous.slots[i].last[enc]
	if previous.slots[i].asked[enc].Load() {
		last = previous.list.AsOf
	}
	p.slots[i].last[enc] = last
	return last != 0 && p.list.AsOf <= last.Add(prebuildFor)
}

// List returns the whole list, the longest there is. It must not be changed.
func (p *Published) List() *crest.List { return p.list }

// Body returns the list of the first k entries as JSON in a content coding: "" for identity, "gzip" or "zstd". A body
// too small to be worth it comes as identity, so used can be "" when something else was wanted. The strong entity tag
// differs by whatever makes the bytes differ. Nothing is returned for a k that is not offered. The body must not be
// changed.
func (p *Published) Body(k int, encoding string) (body []byte, used, etag string) {
	i, enc := p.sizes.slot(k), encodingOf(encoding)
	if i < 0 {
		return nil, "", ""
	}
	s := &p.slots[i]
	if !s.asked[enc].Load() {
		s.asked[enc].Store(true)
	}
	f := s.forms[enc].Load()
	if f == nil {
		p.making.Lock()
		f = p.build(i, k, enc)
		p.making.Unlock()
	}
	return f.body, f.encoding, f.etag
}

// build returns the form of one body, and makes it if that has not been done.
func (p *Published) build(i, k int, enc encoding) *form {
	s := &p.slots[i]
	if f := s.forms[enc].Load(); f != nil {
		return f
	}
	var f *form
	if enc == identity {
		body := p.slice(k)
		f = &form{body: body, etag: p.etag(k, enc)}
	} else {
		plain := p.build(i, k, identity)
		f = plain
		if len(plain.body) >= minCompressed {
			f = &form{body: p.with.compress(enc, plain.body), encoding: enc.String(), etag: p.etag(k, enc)}
		}
	}
	s.forms[enc].Store(f)
	return f
}

// slice builds the identity body: a head of its own, and a prefix of the entries. A list from before the configuration
// offered longer ones stays as long as it was made.
func (p *Published) slice(k int) []byte {
	l := p.list.Slice(min(k, p.list.K))
	n := 0
	if len(l.Top) > 0 {
		n = p.ends[len(l.Top)-1]
	}
	body := l.AppendJSONHead(make([]byte, 0, 640+n))
	body = append(body, p.entries[:n]...)
	return slices.Clip(append(body, "]}"...))
}

// etag names the bytes. The moment of making and the entries are in it, because two makers of one version may differ in
// generated_at and in previous ranks.
func (p *Published) etag(k int, enc encoding) string {
	tag := make([]byte, 0, 64)
	tag = append(append(tag, '"'), p.list.Version...)
	tag = strconv.AppendInt(append(tag, '-'), int64(p.list.GeneratedAt-p.list.AsOf), 36)
	tag = strconv.AppendUint(append(tag, '-'), uint64(p.mark), 36)
	tag = strconv.AppendInt(append(tag, '-'), int64(k), 10)
	if p.list.Stale {
		tag = append(tag, "-stale"...)
	}
	if enc != identity {
		tag = append(append(tag, '-'), enc.String()...)
	}
	return string(append(tag, '"'))
}

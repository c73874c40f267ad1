package httpapi

import "sync/atomic"

// budget is a number of bytes that requests share.
type budget struct {
	limit int64
	used  atomic.Int64
}

// take takes n bytes, or returns false when there aren't as many left.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	return true
}

// give gives back what was taken.
func (b *budget) give(n int64) { b.used.Add(-n) }

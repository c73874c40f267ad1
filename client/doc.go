// Package client sends events to a Crest server: in batches, with retries, and so that none counts twice.
//
// A [Client] sends what it is given and returns when the server has answered for every event. A [Sender] collects
// single events from many goroutines and sends them in batches in the background.
//
// # Retries
//
// A request that fails on its way, or that the server can't take now (429, 502, 503, 504), is sent again with the same
// event ids, after Retry-After or with growing pauses, until Options.Patience is over. The server recognises ids that
// it has seen in the last two minutes (its dedup horizon), so an event whose first request did arrive is not counted
// again. An event without an id is given a random one for that purpose. A batch that the server finds too large is
// sent in halves.
//
// A Client may be used by several goroutines at once.
package client

// Package ingest turns the body of a request into records of the event log: it cuts the body into events, checks and
// completes each, and appends those that are right, by partition, in one step. It knows nothing of HTTP.
//
// One event that is wrong is refused by itself, with its index and the reason. A body that can't be cut into events is
// refused as a whole, and so is one that the log can't take: then nothing of it is counted.
//
// An event's way through the files: json.go or protobuf.go read its fields ([fields]), check.go makes a [crest.Event]
// of them, batch.go encodes it for its partition, ingest.go hands the partitions to the log.
package ingest

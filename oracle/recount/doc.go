// Package recount counts the archive by SQL, in an embedded DuckDB, and compares what comes out with Crest's exact counts and
// lists. It is written from the contract, shares no counting code with Crest, and reads the manifests by itself:
//
//   - An event belongs to the hour of its time. Of an hour's rows, only those received before the hour's cut take part.
//   - Of the rows with one id in an hour, the first counts: the archive's files are in the order in which events were received.
//   - A row near an hour's start or end, within the edge, is also compared with the rows of the neighbour hour that are near the
//     same moment: what was received first counts, and when both were received at once, the earlier hour's.
//   - An event counts on its type's board, and on a narrowed board for every configured set of dimensions that it has all
//     values of.
//   - What counts and was received after the hour's end is late, per slot of ten minutes of received time.
package recount

// Package counts keeps exact counts in files: sorted, immutable, written once and read often, by key or from one end to the
// other. It knows nothing of hours or windows.
//
// A counts file has a row per board and item, in that order. A late file has the weights that came late, per board, item
// and slot of received time. A candidates file has the first items of each board, by rank. All three are Parquet files
// (zstd) that any other tool reads as well; docs/formats/counts.md draws them. The same rows give the same bytes.
//
// Files are written aside, synced and renamed: under its name a file is whole or not there. Opening one compares the whole
// file with the checksum that writing it returned, and from then on every block that is read is compared with what it was
// at that time. Damage comes out as a [CorruptError] that names the file; it is never a wrong number.
//
// A row with an item of 11 random characters costs 9 to 13 bytes on disk. While it is open, a table keeps about 150 bytes of
// index per 1,024 rows in memory, and 4 bytes per 4 KiB of file to tell damage by.
package counts

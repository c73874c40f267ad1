// Package oracle holds what Crest's exact path is checked with: the same counts by an independent engine (package recount,
// SQL in an embedded DuckDB), and days of traffic in simulated time with a truth of their own (package sim). It is a
// module of its own, so that DuckDB, which needs cgo, stays out of the product's dependencies.
package oracle

// Package sim runs days of traffic through a whole node in minutes. Time is a value that the simulation moves: nothing
// sleeps, and a step is over when everything that reads the log has come to rest at the step's end.
//
// Traffic goes the way it goes in a node, from protobuf bodies through ingest. What it counts is known without any of the
// node's code, since items have numbers and copies are made on purpose: [Truth] sums it up in plain slices, and holds
// every list that is published on the way against the rules of the design.
package sim

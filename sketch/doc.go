// Package sketch counts a stream of weighted keys in bounded memory and says, for every key, how wrong its count can be.
package sketch

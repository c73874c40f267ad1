// Package crest holds the vocabulary of the Crest top-K service: events, items, boards, windows, lists and
// error codes.
//
// An [Event] is one occurrence of an item. Items of one type are ranked on a [Board], over a sliding [Window].
// What readers get is a [List]: the K most frequent items of a board and window, with counts that say how wrong
// they can be. Every count is at least the truth, and exceeds it by at most its error.
//
// This package is the one definition of an item and a view that every part of Crest shares. It depends on the
// standard library alone.
package crest

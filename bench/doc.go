// Package bench compares Crest's counting with that of other libraries and of the classic structures: the same streams,
// the same bytes, the same questions. It is a module of its own, so that peers stay out of the product's dependencies.
//
// A [Contender] is one structure with a size. [Measure] feeds it a [Stream] and times it; [GradeTop] compares what it
// reports with the exact counts, which a stream knows because it was generated.
package bench

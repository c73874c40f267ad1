module crest/bench

go 1.26.0

require (
	crest v0.0.0
	github.com/apache/datasketches-go v0.1.0
	github.com/go-kratos/aegis v0.2.0
	github.com/tylertreat/BoomFilters v0.0.0-20251001182300-5b3723cc64ae
	golang.org/x/sys v0.50.0
)

require (
	github.com/d4l3k/messagediff v1.2.1 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/twmb/murmur3 v1.1.8 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
)

replace crest => ../

package sketch_test

import (
	"fmt"

	"crest/sketch"
)

func Example() {
	s, err := sketch.New(sketch.Config{Memory: 64 << 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tag := range []string{"go", "zig", "go", "rust", "go", "zig"} {
		s.Add(tag, 1)
	}
	for _, e := range s.Top(2) {
		fmt.Printf("%s %d, at most %d too high\n", e.Key, e.Count, e.Error)
	}
	fmt.Println("exact:", s.Exact())
	// Output:
	// go 3, at most 0 too high
	// zig 2, at most 0 too high
	// exact: true
}

// More keys than fit make counts uncertain, and the summary says by how much.
func ExampleSummary_Estimate() {
	s, err := sketch.New(sketch.Config{Memory: sketch.MinMemory})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 100_000 {
		s.Add(fmt.Sprint("one-off ", i), 1)
		if i%10 == 0 {
			s.Add("popular", 1)
		}
	}
	e := s.Estimate("popular")
	fmt.Println("between", e.Count-e.Error, "and", e.Count)
	fmt.Println("exact:", s.Exact())
	fmt.Println("memory within the limit:", s.Bytes() <= sketch.MinMemory)
	// Output:
	// between 10000 and 10000
	// exact: false
	// memory within the limit: true
}

// Summaries of parts of a stream add up to a summary of the whole.
func ExampleSummary_Merge() {
	config := sketch.Config{Memory: 64 << 10}
	morning, err := sketch.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	evening, err := sketch.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	morning.Add("news", 30)
	evening.Add("news", 12)
	evening.Add("film", 25)
	if err := morning.Merge(evening); err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range morning.Top(10) {
		fmt.Println(e.Key, e.Count)
	}
	// Output:
	// news 42
	// film 25
}

// A state can be stored and taken up again.
func ExampleSummary_AppendBinary() {
	s, err := sketch.New(sketch.Config{Memory: 64 << 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Add("go", 3)
	state, err := s.AppendBinary(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var restored sketch.Summary
	if err := restored.UnmarshalBinary(state); err != nil {
		fmt.Println(err)
		return
	}
	restored.Add("go", 1)
	fmt.Println(restored.Estimate("go").Count)
	// Output: 4
}

func ExampleNewCountMin() {
	// At most 0.1 % of the stream too high, with a probability of 99 %.
	s, err := sketch.NewCountMin(sketch.CountMinConfig{Epsilon: 0.001, Delta: 0.01, Conservative: true, List: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Add("go", 2)
	s.Add("zig", 1)
	fmt.Println(s.Top(1)[0].Key, s.Bytes() < 100_000)
	// Output: go true
}

package exact

import (
	"fmt"
	"testing"
	"time"

	"crest"
	"crest/internal/list"
)

// Lists know by the pointer that a base is the one they have seen, whatever the number of boards, and while their windows
// move on.
func TestBasesStayTheSame(t *testing.T) {
	config := testConfig()
	config.Windows = []crest.Window{{Name: "24h", Length: 24 * time.Hour}, {Name: "all"}}
	s := newSnapshot(config, newStore(""), &manifest{}, "", nil)
	base := func(board int, from crest.Millis) *list.Base {
		t.Helper()
		b, err := s.Base(fmt.Sprint("article/category=", board), from)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const boards = 10_000
	all, day := map[int]*list.Base{}, map[int]*list.Base{}
	for hour := range 30 {
		step := boards / 10
		if hour < 2 {
			step = 1
		}
		from := testHour.Add(time.Duration(hour) * time.Hour)
		for i := 0; i < boards; i += step {
			b := base(i, from)
			if hour > 0 && (base(i, 0) != all[i] || base(i, from.Add(-time.Hour)) != day[i]) {
				t.Fatalf("hour %d, board %d: the base is made again", hour, i)
			}
			all[i], day[i] = base(i, 0), b
			if base(i, from) != b {
				t.Fatalf("hour %d, board %d: the base is made again", hour, i)
			}
			if n := len(s.bases[fmt.Sprint("article/category=", i)]); n > 5 {
				t.Fatalf("%d bases of one board are kept", n)
			}
		}
	}
}

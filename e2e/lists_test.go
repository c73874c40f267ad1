package e2e

import (
	"fmt"
	"math/rand/v2"
	"time"

	"crest"
)

// entry is one line of a list in the making.
type entry struct {
	id, title string
	count     uint64
	err       uint64
	previous  int
	thumbnail string
}

// build makes a list as Crest does, as of so long ago. A length of 0 means all time.
func build(typ, board, window string, ago, length time.Duration, total, cutoff uint64, entries ...entry) crest.List {
	asOf := crest.MillisOf(time.Now().Add(-ago))
	l := crest.List{
		Type: typ, Board: board, Window: window, K: 1000,
		Version:     fmt.Sprintf("01JDX5%020d", asOf),
		GeneratedAt: asOf.Add(400 * time.Millisecond), AsOf: asOf,
		Total: total, Cutoff: cutoff, Dedup: crest.DedupFull,
	}
	if length > 0 {
		l.From = asOf.Add(-length)
	}
	for _, e := range entries {
		l.Top = append(l.Top, crest.Entry{
			ID: e.id, Title: e.title, Thumbnail: e.thumbnail, Count: e.count, Error: e.err, PreviousRank: e.previous,
		})
	}
	l.Label()
	return l
}

// videos is the 1h list of a busy shelf: counts fall as they do in life, errors appear further down.
func videos() crest.List {
	return build("video", "video", "1h", 4*time.Second, time.Hour, 14_812_406, 41_090,
		entry{"dQw4w9WgXcQ", "Storm front over the Atlantic, live from the weather ship", 912_345, 0, 3, ""},
		entry{"n3Tq8LrW_0c", "Ten minutes of the quietest street in Kyoto", 734_120, 0, 1, ""},
		entry{"V1olin4spRs", "How a violin is made, from spruce to first note", 611_874, 0, 2, ""},
		entry{"b-Lh7Keep9E", "The last lighthouse keeper", 480_233, 0, 4, ""},
		entry{"Lap40yFin1s", "Final lap: the closest finish in 40 years", 402_518, 240, 0, ""},
		entry{"4iNgr_BreaD", "Bread with four ingredients and no kneading", 266_902, 600, 5, ""},
		entry{"gLac13r-Ins", "What happens inside a glacier", 171_446, 1_900, 9, ""},
		entry{"P1anoRain_z", "Late night session: piano and rain", 118_030, 2_600, 6, ""},
		entry{"s19Y74nth-k", "I rebuilt a 1974 synthesizer from a box of parts", 117_300, 3_100, 14, ""},
		entry{"5amPenang_Q", "Street food at 5 a.m. in Penang", 84_120, 7_400, 8, ""},
		entry{"2Vv-BfVoq4g", "A calm guide to sourdough failures", 61_020, 7_900, 10, ""},
		entry{"60ItHLz5WEA", "Night train across the Caucasus", 44_700, 8_800, 0, ""},
	)
}

// hashtags have no titles but a most used spelling, and every count is exact.
func hashtags() crest.List {
	return build("hashtag", "hashtag", "1h", 4*time.Second, time.Hour, 2_140_220, 41_000,
		entry{"worldcup", "#WorldCup", 220_140, 0, 1, ""},
		entry{"caturday", "#Caturday", 190_770, 0, 3, ""},
		entry{"rentrée", "#Rentrée", 90_002, 0, 2, ""},
		entry{"東京マラソン", "#東京マラソン", 74_510, 0, 0, ""},
	)
}

// shelf is everything that the views preset shows in a busy hour.
func shelf() []crest.List {
	minute := videos()
	minute.Window, minute.From = "1m", minute.AsOf.Add(-time.Minute)
	day := videos()
	day.Window, day.From = "24h", day.AsOf.Add(-24*time.Hour)
	all := videos()
	all.Window, all.From = "all", 0
	tags := hashtags()
	tags.Window, tags.From = "1m", tags.AsOf.Add(-time.Minute)
	return []crest.List{videos(), minute, day, all, hashtags(), tags}
}

// articles are boards of the shares preset; the id has a name of its own there.
func articles() []crest.List {
	var lists []crest.List
	for i, board := range []string{
		"article", "article/category=science", "article/category=sports", "article/region=eu", "article/region=us",
		"article/category=sports/region=eu",
	} {
		n := uint64(i + 1)
		l := build("article", board, "5m", 2*time.Second, 5*time.Minute, 42_000/n, 90,
			entry{"art-9001", "Harbour bridge reopens after nine months", 4_149, 600, 2, ""},
			entry{"art-7", "Cup final goes to extra time", 3_020 / n, 0, 1, ""},
			entry{"art-31", fmt.Sprintf("Only on board %d", i), 120, 0, 0, ""},
		)
		l.IDField = "article_id"
		lists = append(lists, l)
	}
	return lists
}

// long is a list of n entries with ids that are as wide as they may be.
func long(n int) crest.List {
	random := rand.New(rand.NewPCG(1, 2))
	entries := make([]entry, n)
	for i := range entries {
		count := uint64(5_000_000 / (i + 1))
		entries[i] = entry{fmt.Sprintf("item-%04d", i), "", count, min(count, random.Uint64N(40)), i + 1, ""}
	}
	return build("video", "video", "1h", time.Second, time.Hour, 80_000_000, 300, entries...)
}

// hostile are ids and titles that try to be more than text.
func hostile() crest.List {
	wide := ""
	for range 64 {
		wide += "𒐫W﷽\u0301"
	}
	zalgo := "Z"
	for range 100 {
		zalgo += "\u0352\u0321"
	}
	return build("video", "video", "1h", time.Second, time.Hour, 9_000_000, 0,
		entry{`<script>window.hit=1</script>`, `<img src=x onerror="window.hit=2">`, 900, 0, 1, `javascript:window.hit=3`},
		entry{`"><svg onload=window.hit=4>`, `</li></ol><h1>owned</h1>`, 800, 0, 2, `data:text/html,<script>window.hit=5</script>`},
		entry{"rtl", "\u202Eمرحبا بالعالم abc \u202D", 700, 0, 3, ""},
		entry{"עברית/../../etc", "שלום עולם, זה כותרת ארוכה מאוד שצריכה להיחתך באיזשהו מקום כי אין לה מקום בשורה אחת", 600, 0, 4, ""},
		entry{wide[:240], wide, 500, 0, 5, ""},
		entry{"\u200B\u200D", "", 400, 0, 6, ""},
		entry{"zalgo", zalgo, 300, 0, 7, ""},
		entry{"__proto__", "${window.hit=6}{{constructor.constructor('window.hit=7')()}}", 200, 0, 8, ""},
		entry{"constructor", "👩‍👩‍👧‍👦 #️⃣ 🏴‍☠️", 100, 0, 9, "https://127.0.0.1:1/none.png"},
		entry{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "", 50, 0, 10, ""},
	)
}

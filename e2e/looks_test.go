package e2e

import (
	"fmt"
	"testing"
	"time"

	"crest"
)

// looks are the ways that the page is looked at.
func looks() map[string]look {
	return map[string]look{
		"desktop":      {width: 1280, height: 900, scale: 1, still: true},
		"desktop dark": {width: 1280, height: 900, scale: 1, still: true, dark: true},
		"tablet":       {width: 768, height: 1024, scale: 1, still: true},
		"phone":        {width: 360, height: 740, scale: 2, still: true},
		"phone dark":   {width: 360, height: 740, scale: 2, still: true, dark: true},
		"small phone":  {width: 320, height: 568, scale: 2, still: true},
	}
}

// contrast returns every visible text whose contrast with what is behind it is below WCAG AA: 4.5, or 3 for large text.
const contrast = `(() => {
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgba = (color) => {
		canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
		return [...canvas.getImageData(0, 0, 1, 1).data];
	};
	const light = ([r, g, b]) => {
		const [R, G, B] = [r, g, b].map((c) => (c /= 255) <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
		return .2126 * R + .7152 * G + .0722 * B;
	};
	const behind = (e) => {
		for (; e; e = e.parentElement) {
			const c = rgba(getComputedStyle(e).backgroundColor);
			if (c[3] === 255) return c;
		}
		return [255, 255, 255, 255];
	};
	const bad = [];
	for (const e of document.querySelectorAll("body *")) {
		const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
		const style = getComputedStyle(e);
		if (!own || e.closest(".hush, .skip, noscript, template") || !e.checkVisibility({ opacityProperty: true })) continue;
		const [a, b] = [light(rgba(style.color)), light(behind(e))];
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		const size = parseFloat(style.fontSize);
		const large = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
		if (ratio < (large ? 3 : 4.5)) bad.push(e.className + " " + e.textContent.trim().slice(0, 30) + " " + ratio.toFixed(2));
	}
	return bad.join("; ");
})()`

func TestEveryLookIsReadableAndFits(t *testing.T) {
	stale := videos()
	stale.Stale = true
	stale.ExactUntil = stale.AsOf.Add(-time.Hour)
	few := hashtags()
	few.Short = crest.ShortFewItems
	none := build("video", "video", "1h", time.Second, time.Hour, 0, 0)
	none.Short = crest.ShortNoTraffic
	pages := map[string]struct {
		lists []crest.List
		path  string
		ready string
	}{
		"shelf":   {shelf(), "", `list.children.length === 10`},
		"stale":   {[]crest.List{stale}, "", `!document.getElementById("notice").hidden`},
		"few":     {[]crest.List{few}, "", `!document.getElementById("tail").hidden`},
		"none":    {[]crest.List{none}, "", `!quiet.hidden`},
		"boards":  {articles(), "?category=sports&region=eu", `document.querySelectorAll("select").length === 2`},
		"unknown": {shelf(), "?window=3h", `!quiet.hidden`},
		"hostile": {[]crest.List{hostile()}, "", `list.children.length === 10`},
	}
	servers := map[string]*fake{}
	for name, p := range pages {
		servers[name] = newFake(t, p.lists...)
		servers[name].change(func() { servers[name].maxAge = 60 })
	}
	for lookName, l := range looks() {
		t.Run(lookName, func(t *testing.T) {
			b := open(t, "about:blank", l)
			for name, p := range pages {
				b.visit(servers[name].URL + "/" + p.path)
				b.until(p.ready)
				if wide := eval[int64](b, `document.documentElement.scrollWidth`); wide > l.width {
					t.Errorf("%s is %d pixels wide on a screen of %d", name, wide, l.width)
				}
				if bad := eval[string](b, contrast); bad != "" {
					t.Errorf("%s has text below AA contrast: %s", name, bad)
				}
				small := eval[string](b, `[...document.querySelectorAll("button, select, .source a")].filter((e) => e.checkVisibility())
					.filter((e) => Math.min(e.getBoundingClientRect().height, e.getBoundingClientRect().width) < (e.matches("a") ? 16 : 32))
					.map((e) => e.textContent).join()`)
				if small != "" {
					t.Errorf("%s has targets that are too small to hit: %s", name, small)
				}
			}
		})
	}
}

func TestDarkIsDark(t *testing.T) {
	f := newFake(t, shelf()...)
	paper := func(dark bool) string {
		b := open(t, f.URL, look{width: 800, height: 600, scale: 1, dark: dark})
		return eval[string](b, `getComputedStyle(document.body).backgroundColor`)
	}
	light, dark := paper(false), paper(true)
	if light != "rgb(246, 248, 248)" || dark != "rgb(8, 20, 26)" {
		t.Errorf("paper is %s in light and %s in dark", light, dark)
	}
}

// The words are plain functions: a table says what they must say.
func TestWords(t *testing.T) {
	f := newFake(t, shelf()...)
	b := open(t, f.URL, desktop)
	for _, c := range []struct{ call, want string }{
		{`tally(912345, 0)`, "912,345 exactly"},
		{`tally(4149, 600)`, "~4.1k, at most 600 too high"},
		{`tally(4149, 60)`, "~4.15k, at most 60 too high"},
		{`tally(4149, 6)`, "~4,149, at most 6 too high"},
		{`tally(912345, 600)`, "~912.3k, at most 600 too high"},
		{`tally(912345, 60)`, "~912,350, at most 60 too high"},
		{`tally(1250345, 600)`, "~1,250,300, at most 600 too high"},
		{`tally(1250345, 12345)`, "~1.25M, at most 12.4k too high"},
		{`tally(999960, 600)`, "~1,000,000, at most 600 too high"},
		{`tally(12345678, 3000000)`, "~12M, at most 3M too high"},
		{`tally(30000000000, 40000000)`, "~30.00B, at most 40M too high"},
		{`tally(5, 5)`, "~5, at most 5 too high"},
		{`tally(1, 1)`, "~1, at most 1 too high"},
		{`tally(14, 12)`, "~10, at most 12 too high"},
		{`tally(0, 0)`, "0 exactly"},
		{`interval(4149, 600)`, "counted 4,149; the truth is between 3,549 and 4,149"},
		{`atMost(9999)`, "9,999"},
		{`atMost(10001)`, "10.1k"},
		{`atMost(123456)`, "124k"},
		{`atMost(1000001)`, "1.01M"},
		{`percent(1, 1000)`, "less than 1%"},
		{`percent(9999, 10000)`, "99%"},
		{`percent(1, 1)`, "100%"},
		{`ago(-5000)`, "just now"},
		{`ago(8400)`, "8 s ago"},
		{`ago(185000)`, "3 min ago"},
		{`ago(3600e3 * 30)`, "30 h ago"},
		{`ago(86400e3 * 3)`, "3 days ago"},
		{`windowWords("1m").tab`, "1 min"},
		{`windowWords("5m").phrase`, "in the last 5 minutes"},
		{`windowWords("24h").tab`, "24 hours"},
		{`windowWords("1h").phrase`, "in the last hour"},
		{`windowWords("2d").tab`, "2 days"},
		{`windowWords("all").phrase`, "of all time"},
		{`windowWords("weekend").tab`, "weekend"},
		{`certainty(874, 1000)`, "Ranks 1–874 are certain"},
		{`certainty(10, 10)`, "All 10 ranks are certain"},
		{`certainty(0, 10)`, "No rank is certain"},
		{`certainty(1, 10)`, "Rank 1 is certain"},
		{`movement(1, 4).glyph`, "▲3"},
		{`movement(4, 3).glyph`, "▼1"},
		{`movement(4, null).glyph`, "new"},
		{`movement(4, 4).glyph`, "—"},
		{`visible("\u200B\u00AD")`, "U+200B U+00AD"},
		{`visible("a\u200B")`, "a\u200B"},
		{`visible("❤️")`, "❤️"},
		{`clock(new Date(2026, 10, 30, 9, 5), new Date(2026, 10, 30, 23, 0))`, "09:05"},
		{`clock(new Date(2026, 10, 29, 0, 5, 9), new Date(2026, 10, 30, 0, 1), true)`, "29 Nov, 00:05:09"},
		{`clock(new Date(2025, 11, 31, 23, 59), new Date(2026, 0, 1, 0, 1))`, "31 Dec 2025, 23:59"},
	} {
		got := eval[string](b, fmt.Sprintf(`import("/words.js").then((m) => { with (m) { const v = %s;
			return typeof v === "string" ? v : v.amount + v.join + v.note; } })`, c.call))
		if got != c.want {
			t.Errorf("%s is %q, want %q", c.call, got, c.want)
		}
	}
}

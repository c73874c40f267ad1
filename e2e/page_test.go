package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestListIsShownWithItsErrors(t *testing.T) {
	f := newFake(t, shelf()...)
	b := open(t, f.URL, desktop)
	b.says(".title", "Storm front over the Atlantic, live from the weather ship|Ten minutes")
	if got := eval[int](b, `document.querySelectorAll("#list > .row").length`); got != 10 {
		t.Errorf("%d rows are shown, want 10", got)
	}
	b.shows(".rank", "1|2|3|4|5|6|7|8|9|10")
	tallies := strings.Split(b.text(".tally"), "|")
	for i, want := range []string{
		"912,345 exactly", "734,120 exactly", "611,874 exactly", "480,233 exactly", "~402.5k, at most 240 too high",
		"~266.9k, at most 600 too high", "~171k, at most 1,900 too high",
	} {
		if tallies[i] != want {
			t.Errorf("tally %d is %q, want %q", i+1, tallies[i], want)
		}
	}
	b.shows(".move-glyph", "▲2|▼1|▼1|—|new|▼1|▲2|▼2|▲5|▼2")
	if got, want := b.text(".move .hush"), "up 2|down 1|down 1|unchanged|new on the list|down 1|up 2|down 2|up 5|down 2"; got != want {
		t.Errorf("movement is read out as %q, want %q", got, want)
	}
	b.says(".id", "dQw4w9WgXcQ|n3Tq8LrW_0c")
	b.says("#fact-list", "Ranks 1–7 are certain")
	b.says("#fact-list", "14,812,406")
	b.says("#fact-list", "26% on this list")
	b.says("#fact-list", "At most 61.1k")
	b.until(`document.querySelectorAll(".last-certain").length === 1 && document.querySelector(".last-certain .rank").textContent === "7"`)
	b.until(`/^Updated (\d+ s ago)$/.test(updated.textContent)`)
	first := b.text("#updated")
	b.until(`updated.textContent !== ` + quote(first)) // it ticks
	b.until(`document.title === "Video, 1 hour · Crest"`)
}

// graded is what the server says of a list as of so long ago.
func graded(ago time.Duration, rest string) string {
	return fmt.Sprintf(`{"as_of":%q,"board":"video","window":"1h","missing":false,"entries":1000,"exact":812,"faults":[],
		"recall_100":{"of":100,"found":100},"largest_overcount":{"rank":412,"id":"x","count":903,"error":12,"truth":900,"repeats":0}%s}`,
		time.Now().Add(-ago).UTC().Format(time.RFC3339), rest)
}

func TestTheNewestGradeIsShown(t *testing.T) {
	for _, c := range []struct {
		name, grades string
		want         []string
	}{
		{"good", graded(time.Hour, ""), []string{"Graded at ", "All of the top 100 found", "Largest over-count 3 of 12 certified"}},
		{"the newest is missing", `{"as_of":"2026-11-30T11:00:00Z","missing":true,"faults":[]},` + graded(time.Hour, ""), []string{"All of the top 100 found"}},
		{"exact", graded(time.Hour, `,"exact":1000`), []string{"Every count was exact"}},
		{"a bug", graded(time.Hour, `,"recall_100":{"of":100,"found":98},"faults":["recall"]`), []string{"98% of the top 100 found", "It broke a promise, and that is a bug"}},
	} {
		f := newFake(t, shelf()...)
		f.grades = c.grades
		b := open(t, f.URL, phone)
		for _, want := range c.want {
			b.says("#fact-list", want)
		}
		b.do(chromedp.Click(chromedp.CSS(`#windows [data-value="1m"]`)))
		b.until(`document.title === "Video, 1 min · Crest"`)
		b.do(chromedp.Click(chromedp.CSS(`#windows [data-value="1h"]`)))
		b.says("#fact-list", c.want[0])
		polls := func() int { return f.seen("/v1/top", http.StatusOK) + f.seen("/v1/top", http.StatusNotModified) }
		enough := polls() + 2
		eventually(t, "two more lists", func() bool { return polls() >= enough })
		if n := f.seen("/v1/grades", http.StatusOK); n != 2 {
			t.Errorf("%s: grades were asked for %d times, want once for each of two lists", c.name, n)
		}
	}
}

func TestAListWithoutAGrade(t *testing.T) {
	for name, change := range map[string]func(f *fake){
		"none yet":        func(*fake) {},
		"nothing counted": func(f *fake) { f.grades = graded(time.Hour, `,"recall_100":{"of":0,"found":0}`) },
		"not an answer":   func(f *fake) { f.grades = "<" },
	} {
		f := newFake(t, shelf()...)
		change(f)
		b := open(t, f.URL, desktop)
		b.says("#fact-list", "26% on this list")
		b.until(`performance.getEntriesByType("resource").some((r) => r.name.includes("/v1/grades") && r.responseEnd > 0)`)
		if text := b.text("#fact-list"); strings.Contains(text, "Graded") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestBarsShowCountAndError(t *testing.T) {
	f := newFake(t, articles()...)
	b := open(t, f.URL, look{width: 1280, height: 900, scale: 1, still: true})
	b.says(".title", "Harbour bridge")
	widths := eval[[]float64](b, `[...document.querySelectorAll(".row:first-child .bar, .row:first-child .sure, .row:first-child .doubt")]
		.map((e) => e.getBoundingClientRect().width)`)
	sure, doubt := widths[1]/widths[0], widths[2]/widths[0]
	if want := 3549.0 / 4149; sure < want-.01 || sure > want+.01 {
		t.Errorf("the solid part is %.3f of the bar, want %.3f", sure, want)
	}
	if want := 600.0 / 4149; doubt < want-.01 || doubt > want+.01 {
		t.Errorf("the hatched part is %.3f of the bar, want %.3f", doubt, want)
	}
}

func TestTabsByMouse(t *testing.T) {
	f := newFake(t, shelf()...)
	b := open(t, f.URL, desktop)
	b.shows("#types button", "Video|Hashtag")
	b.shows("#windows button", "1 min|1 hour|24 hours|All time")
	b.shows("[aria-selected=true]", "Video|1 hour")
	b.do(chromedp.Click(chromedp.CSS(`#windows [data-value="1m"]`)))
	b.until(`location.search.includes("window=1m")`)
	b.shows("[aria-selected=true]", "Video|1 min")
	b.until(`document.title === "Video, 1 min · Crest"`)
	b.do(chromedp.Click(chromedp.CSS(`#types [data-value="hashtag"]`)))
	b.shows(".title", "#WorldCup|#Caturday|#Rentrée|#東京マラソン")
	b.shows("[aria-selected=true]", "Hashtag|1 min")
	b.do(chromedp.Click(chromedp.CSS(`#size-choice [data-value="100"]`)))
	b.until(`location.search.includes("k=100")`)
	b.do(chromedp.NavigateBack())
	b.do(chromedp.NavigateBack())
	b.until(`location.search.includes("type=video")`)
	b.says(".title", "Storm front")
	b.shows("[aria-selected=true]", "Video|1 min")
}

func TestTabsByKeyboard(t *testing.T) {
	f := newFake(t, shelf()...)
	b := open(t, f.URL, desktop)
	b.shows("#windows button", "1 min|1 hour|24 hours|All time")
	for _, row := range []string{"types", "windows", "size-choice"} {
		if stops := eval[int](b, `document.querySelectorAll("#`+row+` [tabindex='0']").length`); stops != 1 {
			t.Errorf("%s has %d tab stops, want 1", row, stops)
		}
	}
	focus := func() string {
		return eval[string](b, `document.activeElement.dataset.value ?? document.activeElement.tagName`)
	}
	press := func(key string) { b.t.Helper(); b.do(chromedp.KeyEvent(key)) }
	for range 3 { // the skip link, the brand, the selected type
		press(kb.Tab)
	}
	if focus() != "video" {
		t.Fatalf("the third tab stop is %q, want the selected type", focus())
	}
	press(kb.ArrowRight)
	b.says(".title", "#WorldCup")
	if focus() != "hashtag" {
		t.Errorf("focus is on %q after an arrow key, want hashtag", focus())
	}
	press(kb.ArrowRight) // around
	b.says(".title", "Storm front")
	press(kb.Tab)
	if focus() != "1h" {
		t.Fatalf("the next tab stop is %q, want the selected window", focus())
	}
	press(kb.End)
	b.shows("[aria-selected=true]", "Video|All time")
	b.until(`location.search.includes("window=all")`)
	b.says("#fact-list", "Everything up to")
	press(kb.Home)
	b.shows("[aria-selected=true]", "Video|1 min")
	press(kb.ArrowLeft)
	b.shows("[aria-selected=true]", "Video|All time")
	if ring := eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`); ring != "solid" {
		t.Errorf("the focused tab has the outline %q, want a visible ring", ring)
	}
}

func TestViewIsInTheAddress(t *testing.T) {
	f := newFake(t, append(shelf(), articles()...)...)
	b := open(t, f.URL+"/?type=article&window=5m&k=10&category=sports&region=eu", desktop)
	b.says(".title", "Only on board 5")
	b.shows(".narrow label span", "Category|Region")
	b.until(`[...document.querySelectorAll("select")].map((s) => s.value).join() === "sports,eu"`)
	b.says(".tally", "~4.1k, at most 600 too high")
	b.says(".id", "art-9001")
}

func TestNarrowedBoards(t *testing.T) {
	f := newFake(t, articles()...)
	b := open(t, f.URL, desktop)
	b.until(`document.querySelectorAll("select").length === 2`)
	pick := func(i int, value string) {
		b.t.Helper()
		b.until(fmt.Sprintf(`(() => { const s = document.querySelectorAll("select")[%d]; s.value = %q;
			s.dispatchEvent(new Event("change")); return s.value === %q; })()`, i, value, value))
	}
	pick(0, "sports")
	b.says(".title", "Only on board 2")
	pick(1, "eu")
	b.says(".title", "Only on board 5")
	pick(1, "us") // there is no board of sports in us: the later choice wins
	b.says(".title", "Only on board 4")
	b.until(`[...document.querySelectorAll("select")].map((s) => s.value).join() === ",us"`)
	pick(1, "")
	b.says(".title", "Only on board 0")
}

func TestBoardsThatComeIntoBeingAreOffered(t *testing.T) {
	all := articles()
	f := newFake(t, all[0])
	b := open(t, f.URL, desktop)
	b.says(".title", "Only on board 0")
	b.until(`narrow.hidden`)
	for _, l := range all[1:] {
		f.put(l)
	}
	b.until(`document.querySelectorAll("select").length === 2`)
}

func TestNewVersionIsPolledAndRowsMove(t *testing.T) {
	f := newFake(t, videos())
	b := open(t, f.URL, desktop)
	b.says(".title", "Storm front")
	b.until(`(document.querySelector(".row").mine = true)`)
	// The animations of the moment at which the rows change place.
	b.until(`(window.moved = 0, new MutationObserver(() => {
		moved = Math.max(moved, document.getAnimations().filter((a) => a.effect.target.matches(".row")).length);
	}).observe(list, { childList: true }), true)`)
	next := videos()
	next.Top[0], next.Top[1] = next.Top[1], next.Top[0]
	next.Top[0].Count, next.Top[0].PreviousRank = 999_999, 2
	next.Top[1].PreviousRank = 1
	next.Label()
	f.put(next)
	b.says(".tally", "999,999 exactly")
	b.says(".title", "Ten minutes of the quietest street in Kyoto|Storm front")
	b.until(`document.querySelectorAll(".row")[1].mine`) // the row went along with its item
	b.until(`moved === 2`)
}

func TestReducedMotionKeepsStill(t *testing.T) {
	f := newFake(t, videos())
	b := open(t, f.URL, look{width: 1280, height: 900, scale: 1, still: true})
	b.says(".title", "Storm front")
	b.until(`(window.moved = 0, new MutationObserver(() => { moved += document.getAnimations().length; }).observe(list, { childList: true }), true)`)
	next := videos()
	next.Top[0], next.Top[1] = next.Top[1], next.Top[0]
	next.Top[0].Count = 999_999
	next.Label()
	f.put(next)
	b.says(".tally", "999,999 exactly")
	b.until(`moved === 0`)
}

func TestPollingKeepsToTheCache(t *testing.T) {
	f := newFake(t, videos())
	b := open(t, f.URL, desktop)
	b.says(".title", "Storm front")
	eventually(t, "an unchanged list is answered with 304", func() bool { return f.seen("/v1/top", http.StatusNotModified) >= 2 })
	f.change(func() { f.maxAge = 50 })
	eventually(t, "the longer max-age is taken up", func() bool {
		before := f.seen("/v1/top", http.StatusNotModified)
		time.Sleep(2500 * time.Millisecond) // more than two polls at the old pace
		return f.seen("/v1/top", http.StatusNotModified) == before
	})
	// A hidden page asks nothing; shown again it asks once its list is old.
	f.change(func() { f.maxAge = 1 })
	b = open(t, f.URL, desktop)
	b.says(".title", "Storm front")
	b.until(`(Object.defineProperty(document, "hidden", { value: true, configurable: true }), document.dispatchEvent(new Event("visibilitychange")))`)
	time.Sleep(200 * time.Millisecond) // a request under way ends
	before := f.seen("/v1/top", http.StatusNotModified)
	time.Sleep(2500 * time.Millisecond)
	if asked := f.seen("/v1/top", http.StatusNotModified) - before; asked != 0 {
		t.Errorf("a hidden page asked %d times", asked)
	}
	b.until(`(delete document.hidden, document.dispatchEvent(new Event("visibilitychange")))`)
	eventually(t, "a page shown again asks", func() bool { return f.seen("/v1/top", http.StatusNotModified) > before })
}

func TestPageAsksNobodyElse(t *testing.T) {
	f := newFake(t, shelf()...)
	b := open(t, f.URL, desktop)
	b.says(".title", "Storm front")
	b.until(`performance.getEntriesByType("resource").every((e) => e.name.startsWith(location.origin + "/"))`)
}

func TestThousandRows(t *testing.T) {
	f := newFake(t, long(1000))
	b := open(t, f.URL+"/?k=1000", desktop)
	b.until(`document.querySelectorAll(".row .title").length === 1000`)
	ms := eval[float64](b, `(async () => {
		const { showRows } = await import("/rows.js");
		const l = await (await fetch("/v1/top?k=1000")).json();
		l.top.reverse();
		const t = performance.now();
		showRows(list, l, true);
		list.getBoundingClientRect();
		return performance.now() - t;
	})()`)
	t.Logf("1,000 rows reversed in %.0f ms", ms)
	b.until(`document.querySelector(".title").textContent === "item-0999"`)
}

// eventually waits for a condition outside the browser.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if holds() {
			return
		}
		time.Sleep(50 * time.Millisecond) // the fake has no way to tell us
	}
	t.Fatalf("never happened: %s", what)
}

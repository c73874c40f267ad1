package e2e

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"crest"
)

func TestStaleList(t *testing.T) {
	stale := videos()
	stale.AsOf, stale.Stale = stale.AsOf.Add(-12*time.Minute), true
	f := newFake(t, stale)
	b := open(t, f.URL, desktop)
	b.says("#notice", "Counting has stalled; this is the last good list, from "+stale.AsOf.Time().Local().Format("15:04"))
	b.says(".title", "Storm front")
	b.says("#updated", "Updated 12 min ago")
	f.put(videos())
	b.until(`notice.hidden`)
}

func TestEmptyAndShortLists(t *testing.T) {
	none := build("video", "video", "1h", time.Second, time.Hour, 0, 0)
	none.Short = crest.ShortNoTraffic
	f := newFake(t, none)
	b := open(t, f.URL, desktop)
	b.says("#quiet", "Nothing was counted here in the last hour.")

	warming := none
	warming.Short = crest.ShortWarmingUp
	f.put(warming)
	b.says("#quiet-text", "Counting has only just begun, and nothing has been counted yet.")

	unmade := warming // what the server says of a window before its first list
	unmade.Version = ""
	f.put(unmade)
	b.says("#quiet-text", "Counting has begun. The first list is ready within a minute.")
	b.shows("#updated", "No list yet")
	b.until(`facts.hidden`)

	rising := hashtags()
	rising.Type, rising.Board, rising.Short = "video", "video", crest.ShortWarmingUp
	f.put(rising)
	b.says("#notice", "Warming up: counting has not yet seen everything in the last hour")
	b.says(".title", "#WorldCup")
	b.until(`quiet.hidden`)

	few := rising
	few.Short = crest.ShortFewItems
	f.put(few)
	b.says("#tail", "That is all: only 4 were counted in the last hour.")
	b.until(`document.getElementById("notice").hidden`)
}

func TestExactUntilLateAndDuplicates(t *testing.T) {
	l := videos()
	l.ExactUntil = l.AsOf.Add(-42 * time.Minute)
	l.Late, l.Duplicates, l.Dedup = 388, 1204, crest.DedupPartial
	f := newFake(t, l)
	b := open(t, f.URL, desktop)
	for _, want := range []string{
		"Exact until ", "388 came too late", "1,204 sent twice, counted once", "Some that were sent twice may be counted twice",
	} {
		b.says("#fact-list", want)
	}
}

func TestUnreachableServerKeepsTheLastList(t *testing.T) {
	f := newFake(t, videos())
	b := open(t, f.URL, desktop)
	b.says(".title", "Storm front")
	f.change(func() { f.cut = true })
	b.says("#notice", "Crest can't be reached. This is the last list, from ")
	b.says(".title", "Storm front")
	f.change(func() { f.cut, f.status, f.code = false, 503, crest.CodeShuttingDown })
	b.says("#notice", "Crest has no answer right now.")
	// A proxy in between may answer in its own way.
	for _, instead := range []string{"<html>Please log in</html>", "{}", "null", `{"top":[]}`} {
		f.change(func() { f.status, f.instead = 0, "" })
		b.until(`document.getElementById("notice").hidden`)
		f.change(func() { f.instead = instead })
		b.says("#notice", "Crest has no answer right now. This is the last list")
	}
	f.change(func() { f.instead = "" })
	b.until(`document.getElementById("notice").hidden && pulse.dataset.state === "live"`)
}

func TestServerThatIsNotThereYet(t *testing.T) {
	f := newFake(t, videos())
	f.change(func() { f.status, f.code = 503, crest.CodeNotReady })
	b := open(t, f.URL, desktop)
	b.says("#quiet-title", "Starting")
	f.change(func() { f.status = 0 })
	b.says(".title", "Storm front")
	b.until(`quiet.hidden`)
}

func TestSkeletonWhileTheFirstListIsOnItsWay(t *testing.T) {
	f := newFake(t, videos())
	f.mu.Lock() // answers nothing
	b := open(t, f.URL, desktop)
	b.until(`document.querySelectorAll(".bones").length === 10 && panel.getAttribute("aria-busy") === "true"`)
	f.mu.Unlock()
	b.says(".title", "Storm front")
	b.until(`!document.querySelector(".bones") && panel.getAttribute("aria-busy") === "false"`)
}

func TestUnknownViewSaysWhatThereIs(t *testing.T) {
	f := newFake(t, shelf()...)
	b := open(t, f.URL+"/?type=video&window=3h", desktop)
	b.says("#quiet-title", "There is no such list")
	b.says("#quiet-text", "there is 1m, 1h")
	b.do(chromedp.Click(chromedp.CSS("#quiet-button")))
	b.says(".title", "Storm front")
}

func TestHostileTextStaysText(t *testing.T) {
	f := newFake(t, hostile())
	b := open(t, f.URL, phone)
	b.says(".title", `<img src=x onerror="window.hit=2">|</li></ol><h1>owned</h1>`)
	b.says(".id", `<script>window.hit=1</script>|"><svg onload=window.hit=4>`)
	b.says(".title", "U+200B U+200D")
	b.until(`document.querySelectorAll("#list > .row").length === 10 && !list.querySelector("script, h1, svg")`)
	b.until(`[...list.querySelectorAll("img")].every((i) => i.src.startsWith("https:") || i.src.startsWith("data:image/"))`)
	// The picture that can't be had gives way to a letter.
	b.until(`list.querySelectorAll("img").length === 0`)
	if hit := eval[bool](b, `"hit" in window`); hit {
		t.Error("text of an item was executed")
	}
	// Text that runs from right to left, or overrides its direction, changes nothing outside its own box.
	b.until(`[...document.querySelectorAll(".title, .id")].every((e) => e.dir === "auto" && getComputedStyle(e).unicodeBidi === "isolate")`)
	b.until(`[...document.querySelectorAll(".row")].every((r) => r.getBoundingClientRect().height < 110)`)
	b.until(`document.documentElement.scrollWidth <= 360`)
}

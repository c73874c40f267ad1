package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"testing"
	"time"

	"crest"
)

// TestPictures saves what every state of the page looks like, for people to look at: SHOTS=dir go test -run Pictures.
func TestPictures(t *testing.T) {
	if os.Getenv("SHOTS") == "" {
		t.Skip("set SHOTS to the directory that the pictures shall go to")
	}
	dark := func(l look) look { l.dark = true; return l }
	stale := videos()
	stale.AsOf, stale.Stale = stale.AsOf.Add(-12*time.Minute), true
	none := build("video", "video", "1h", time.Second, time.Hour, 0, 0)
	none.Short = crest.ShortNoTraffic
	warming := build("video", "video", "1h", time.Second, time.Hour, 0, 0)
	warming.Short = crest.ShortWarmingUp
	rising := videos()
	rising.Top = rising.Top[:6]
	rising.Label()
	rising.Short = crest.ShortWarmingUp
	few := hashtags()
	few.Short = crest.ShortFewItems
	pictured := videos()
	for i := range pictured.Top {
		pictured.Top[i].Thumbnail = thumbnail(i)
	}
	pictured.Top[3].Thumbnail = ""
	certain := videos()
	certain.ExactUntil = certain.AsOf.Add(-42 * time.Minute)
	certain.Late, certain.Duplicates, certain.Dedup = 388, 1204, crest.DedupPartial
	hundred := long(100)

	for _, c := range []struct {
		name  string
		lists []crest.List
		path  string
		wait  string
	}{
		{"list", shelf(), "", `document.querySelector(".title").textContent.includes("Storm")`},
		{"hashtags", shelf(), "?type=hashtag", `document.querySelector(".title").textContent.includes("World")`},
		{"thumbnails", []crest.List{pictured}, "", `document.querySelectorAll(".thumb img").length > 8`},
		{"aside", []crest.List{certain}, "", `document.querySelectorAll(".title").length > 8`},
		{"articles", articles(), "?category=sports", `document.querySelectorAll("select").length > 1`},
		{"hundred", []crest.List{hundred}, "?k=100", `document.querySelectorAll(".title").length > 80`},
		{"stale", []crest.List{stale}, "", `!notice.hidden`},
		{"none", []crest.List{none}, "", `!quiet.hidden`},
		{"warming", []crest.List{warming}, "", `!quiet.hidden`},
		{"rising", []crest.List{rising}, "", `!notice.hidden`},
		{"few", []crest.List{few}, "", `!tail.hidden`},
		{"unknown", shelf(), "?window=3h", `!quiet.hidden`},
		{"hostile", []crest.List{hostile()}, "", `document.querySelectorAll(".title").length > 8`},
	} {
		f := newFake(t, c.lists...)
		f.grades = graded(50*time.Minute, "")
		for name, l := range map[string]look{
			"desktop": desktop, "desktop-dark": dark(desktop), "phone": phone, "phone-dark": dark(phone),
		} {
			t.Run(c.name+"-"+name, func(t *testing.T) {
				b := open(t, f.URL+"/"+c.path, l)
				b.until(c.wait)
				b.shoot(c.name+"-"+name, true)
			})
		}
	}
	t.Run("readme", func(t *testing.T) {
		f := newFake(t, shelf()...)
		f.grades = graded(50*time.Minute, "")
		b := open(t, f.URL, look{width: 1200, height: 944, scale: 2})
		b.says(".title", "Storm front")
		b.shoot("page", false)
		b = open(t, f.URL, look{width: 390, height: 844, scale: 2, dark: true})
		b.says(".title", "Storm front")
		b.shoot("page-phone", false)
	})
	t.Run("offline", func(t *testing.T) {
		f := newFake(t, shelf()...)
		b := open(t, f.URL, phone)
		b.says(".title", "Storm front")
		f.change(func() { f.cut = true })
		b.says("#notice", "Crest can't be reached")
		b.shoot("offline-phone", false)
	})
	t.Run("unreachable and skeleton", func(t *testing.T) {
		f := newFake(t, shelf()...)
		f.change(func() { f.status, f.code = 503, crest.CodeNotReady })
		b := open(t, f.URL, desktop)
		b.until(`!quiet.hidden`)
		b.shoot("starting-desktop", false)
		g := newFake(t, shelf()...)
		g.mu.Lock() // answers nothing
		b = open(t, g.URL, desktop)
		b.until(`document.querySelector(".bones")`)
		b.shoot("skeleton-desktop", false)
		g.mu.Unlock()
	})
}

// thumbnail is a drawn landscape of its own for every i.
func thumbnail(i int) string {
	hue := i * 47 % 360
	svg := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 160 90"><defs><linearGradient id="g" x2="0" y2="1">`+
		`<stop stop-color="hsl(%d 45%% 72%%)"/><stop offset="1" stop-color="hsl(%d 60%% 86%%)"/></linearGradient></defs>`+
		`<rect width="160" height="90" fill="url(#g)"/><circle cx="%d" cy="%d" r="11" fill="hsl(%d 85%% 92%%)"/>`+
		`<path d="M0 %dC40 %d 60 %d 90 62s40-18 70-8v46H0z" fill="hsl(%d 40%% 42%%)"/>`+
		`<path d="M0 78c40-14 70 6 160-10v30H0z" fill="hsl(%d 45%% 26%%)"/></svg>`,
		hue, hue+40, 30+i*23%100, 20+i*7%20, hue+60, 55+i*5%20, 40+i*9%25, 75-i*3%20, hue, hue)
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(svg))
}

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// browser starts the one chromium that all tests of a run share; every test gets a context of its own in it, with its
// own cache. stopBrowser ends it.
var (
	browser     = sync.OnceValues(startBrowser)
	stopBrowser = func() {}
)

func TestMain(m *testing.M) {
	code := m.Run()
	stopBrowser()
	removeBinary()
	os.Exit(code)
}

// chromium returns the browser to test with: $CHROMIUM, or what is in PATH.
func chromium() (string, error) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no chromium in PATH: install it (apt-get install chromium) or set CHROMIUM to its path")
}

func startBrowser() (context.Context, error) {
	path, err := chromium()
	if err != nil {
		return nil, err
	}
	profile, err := os.MkdirTemp("", "crest-e2e-")
	if err != nil {
		return nil, err
	}
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.Headless, chromedp.NoFirstRun,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(time.Minute),
	)
	ctx, stop := chromedp.NewContext(alloc)
	stopBrowser = func() {
		stop()
		stopAlloc()
		_ = os.RemoveAll(profile)
	}
	return ctx, chromedp.Do(ctx)
}

// look is how a tab sees the page.
type look struct {
	width, height int64
	scale         float64
	dark          bool
	still         bool // prefers-reduced-motion
}

var (
	desktop = look{width: 1280, height: 900, scale: 1}
	phone   = look{width: 360, height: 740, scale: 2}
)

// tab is a page open in the browser.
type tab struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // it is chromedp's handle of the tab, and lives as long
	mu     sync.Mutex
	errors []string // what the browser complained of
}

// open opens the address. A test fails when the page throws, logs an error or violates its security policy.
func open(t *testing.T, address string, l look) *tab {
	t.Helper()
	started, err := browser()
	if err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	ctx, stop := chromedp.NewContext(started, chromedp.WithNewBrowserContext())
	t.Cleanup(stop)
	b := &tab{t: t, ctx: ctx}
	messages := chromedp.Console(ctx)
	var listener sync.WaitGroup
	listener.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			// Requests that a test makes fail on purpose are logged as network errors.
			if m.IsException() || m.Type == "error" && m.Source != "network" {
				b.mu.Lock()
				b.errors = append(b.errors, m.String())
				b.mu.Unlock()
			}
		}
	})
	t.Cleanup(func() {
		for _, e := range b.complaints() {
			t.Errorf("the browser complained: %s", e)
		}
		stop()
		listener.Wait()
	})
	b.do(chromedp.EmulateViewport(l.width, l.height, chromedp.EmulateScale(l.scale)))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: choice(l.dark, "dark", "light")},
		{Name: "prefers-reduced-motion", Value: choice(l.still, "reduce", "no-preference")},
	}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatalf("emulate media: %v", err)
	}
	b.visit(address)
	return b
}

func (b *tab) visit(address string) {
	b.t.Helper()
	b.do(chromedp.Navigate(address))
}

func choice(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.errors...)
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	_ = run(b, chromedp.Steps(steps...))
}

// run runs one action within a time limit and returns its value.
func run[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatalf("browser: %v", err)
	}
	return value
}

// eval returns the value of a JavaScript expression; promises are awaited.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	return run(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise, chromedp.EvalAsValue))
}

// text returns the text of all that the selector matches, joined by "|".
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, `[...document.querySelectorAll(`+quote(selector)+`)].map((e) => e.textContent).join("|")`)
}

// until waits for a JavaScript expression to become true.
func (b *tab) until(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for {
		if eval[bool](b, `Boolean(`+expression+`)`) {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("never became true: %s\nthe page says:\n%s", expression, eval[string](b, `document.body.innerText`))
		}
		time.Sleep(25 * time.Millisecond) // the page has no way to tell us
	}
}

// shows waits for the selector's text, all visible matches joined by "|".
func (b *tab) shows(selector, want string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll(%s)].filter((e) => e.checkVisibility()).map((e) => e.textContent).join("|") === %s`,
		quote(selector), quote(want)))
}

// says waits for the selector's text to contain want.
func (b *tab) says(selector, want string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll(%s)].filter((e) => e.checkVisibility()).map((e) => e.textContent).join("|").includes(%s)`,
		quote(selector), quote(want)))
}

// shoot saves a picture of the page. The directory is $SHOTS, or the test's own.
func (b *tab) shoot(name string, full bool) {
	b.t.Helper()
	dir := os.Getenv("SHOTS")
	if dir == "" {
		dir = b.t.TempDir()
	}
	var png []byte
	if full {
		png = run(b, chromedp.FullScreenshot(100))
	} else {
		png = run(b, chromedp.CaptureScreenshot())
	}
	path := filepath.Join(dir, name+".png")
	if err := os.WriteFile(path, png, 0o600); err != nil {
		b.t.Fatalf("save the picture: %v", err)
	}
	b.t.Logf("picture: %s", path)
}

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(string(raw), "\u2028", `\u2028`)
}

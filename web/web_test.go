package web

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

// maxPage is what the whole page may weigh, in bytes before compression.
const maxPage = 96 << 10

func pageFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(FS(), name)
		files[name] = string(raw)
		return err
	})
	if err != nil {
		t.Fatalf("walk the page: %v", err)
	}
	return files
}

func TestPageIsWholeAndSmall(t *testing.T) {
	files := pageFiles(t)
	total := 0
	for _, text := range files {
		total += len(text)
	}
	if total > maxPage {
		t.Errorf("the page weighs %d bytes; it should stay below %d", total, maxPage)
	}
	references := regexp.MustCompile(`(?:src|href)="([^"#/:?]+)"|from "\./([^"]+)"`)
	referenced := map[string]bool{"index.html": true}
	for name, text := range files {
		for _, m := range references.FindAllStringSubmatch(text, -1) {
			target := path.Clean(m[1] + m[2])
			if target == "." {
				continue
			}
			if _, ok := files[target]; !ok {
				t.Errorf("%s refers to %s, which does not exist", name, target)
			}
			referenced[target] = true
		}
	}
	for name := range files {
		if !referenced[name] {
			t.Errorf("%s is embedded but nothing refers to it", name)
		}
	}
}

// The page is served under ContentSecurityPolicy: nothing inline, nothing from elsewhere, and no text made into HTML.
func TestPageKeepsItsPolicy(t *testing.T) {
	banned := map[string]*regexp.Regexp{
		"an inline style":     regexp.MustCompile(`(?i)\sstyle="`),
		"an inline handler":   regexp.MustCompile(`(?i)<[^>]*\son[a-z]+="`),
		"an inline script":    regexp.MustCompile(`(?i)<script(?:\s+type="[^"]*")?>`),
		"a request to a host": regexp.MustCompile(`(?i)(?:src|href|url|from|import|fetch)\s*[=(]?\s*["'(]?(?:https?:)?//`),
		"markup from text":    regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|setHTML|DOMParser|createContextualFragment`),
		"code from text":      regexp.MustCompile(`\beval\(|new Function|setTimeout\("`),
	}
	for name, text := range pageFiles(t) {
		if strings.HasSuffix(name, ".svg") {
			continue
		}
		for what, pattern := range banned {
			if m := pattern.FindString(text); m != "" {
				t.Errorf("%s has %s: %q", name, what, m)
			}
		}
	}
}
